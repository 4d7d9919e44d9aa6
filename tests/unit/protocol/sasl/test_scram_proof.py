from __future__ import annotations

from base64 import b64decode

import attrs
import pytest

from pyk.protocol import EncodeError
from pyk.protocol.sasl import (
    ClientFinal,
    ScramCredential,
    ScramMechanism,
    ScramProofError,
    ServerFinal,
    auth_message,
    prove,
    salted_password,
    verify_server,
)
from support.scram import (
    CLIENT_FIRST,
    PASSWORD,
    PROOFS,
    SERVER_FIRST,
    SIGNATURES,
    UNPROVEN,
)

MECHANISMS = list(ScramMechanism)


def salted(mechanism: ScramMechanism, password: str = PASSWORD) -> bytes:
    return salted_password(mechanism, password, SERVER_FIRST.salt, SERVER_FIRST.iterations)


def credential(mechanism: ScramMechanism) -> ScramCredential:
    return ScramCredential.from_salted_password(
        mechanism, salted(mechanism), SERVER_FIRST.salt, SERVER_FIRST.iterations
    )


def sent_by_client(mechanism: ScramMechanism) -> ClientFinal:
    data = UNPROVEN + b",p=" + PROOFS[mechanism].encode()
    return ClientFinal.decode(data, CLIENT_FIRST, SERVER_FIRST)


def signed(mechanism: ScramMechanism) -> bytes:
    return auth_message(CLIENT_FIRST, SERVER_FIRST, sent_by_client(mechanism))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_client_proves_that_it_knows_the_password(mechanism: ScramMechanism) -> None:
    final = prove(mechanism, salted(mechanism), CLIENT_FIRST, SERVER_FIRST)

    assert final.encode() == UNPROVEN + b",p=" + PROOFS[mechanism].encode()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_server_knows_the_proof_and_signs(mechanism: ScramMechanism) -> None:
    kept, message = credential(mechanism), signed(mechanism)

    kept.verify_client(message, sent_by_client(mechanism))

    assert kept.sign(message).encode() == b"v=" + SIGNATURES[mechanism].encode()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_client_knows_the_signature(mechanism: ScramMechanism) -> None:
    final = ServerFinal.decode(b"v=" + SIGNATURES[mechanism].encode())

    verify_server(mechanism, salted(mechanism), signed(mechanism), final)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_proof_from_another_password_is_refused(mechanism: ScramMechanism) -> None:
    wrong = prove(mechanism, salted(mechanism, "Pencil"), CLIENT_FIRST, SERVER_FIRST)

    with pytest.raises(ScramProofError, match="client's proof"):
        credential(mechanism).verify_client(signed(mechanism), wrong)


@pytest.mark.parametrize("size", [1, 31, 33, 64])
def test_a_proof_of_another_size_is_refused(size: int) -> None:
    sha256 = ScramMechanism.SCRAM_SHA_256
    wrong = attrs.evolve(sent_by_client(sha256), proof=bytes(size))

    with pytest.raises(ScramProofError):
        credential(sha256).verify_client(signed(sha256), wrong)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_server_without_the_password_is_found_out(mechanism: ScramMechanism) -> None:
    good = b64decode(SIGNATURES[mechanism])

    for wrong in (good[:-1], bytes(len(good)), good[:-1] + bytes([good[-1] ^ 1])):
        with pytest.raises(ScramProofError, match="server's signature"):
            verify_server(mechanism, salted(mechanism), signed(mechanism), ServerFinal(wrong))


def test_extensions_are_signed_too() -> None:
    sha256 = ScramMechanism.SCRAM_SHA_256
    first = attrs.evolve(CLIENT_FIRST, extensions={"tokenauth": "true"})
    message = auth_message(first, SERVER_FIRST, sent_by_client(sha256))

    with pytest.raises(ScramProofError):
        credential(sha256).verify_client(message, sent_by_client(sha256))


@pytest.mark.parametrize("password", ["", "pen\ud800cil"])
def test_a_password_that_cannot_be_hashed_is_not_shown(password: str) -> None:
    with pytest.raises(EncodeError, match=r"^password is empty, or has half of a surrogate pair"):
        salted_password(ScramMechanism.SCRAM_SHA_256, password, b"salt", 4096)


def test_a_password_is_hashed_as_it_is_written() -> None:
    # SASLprep would make the two the same; Kafka's credentials tell them apart.
    ligature = salted_password(ScramMechanism.SCRAM_SHA_256, "\ufb01sh", b"salt", 4096)

    assert ligature != salted_password(ScramMechanism.SCRAM_SHA_256, "fish", b"salt", 4096)


def test_the_keys_of_a_credential_are_not_shown() -> None:
    shown = repr(credential(ScramMechanism.SCRAM_SHA_256))

    assert "stored_key" not in shown
    assert "server_key" not in shown
