"""Laws of SASL tokens: decoding inverts encoding, and only the same password is accepted."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyk.protocol.sasl import (
    ClientFinal,
    ClientFirst,
    OAuthBearerFailure,
    OAuthBearerResponse,
    PlainToken,
    ScramCredential,
    ScramMechanism,
    ScramProofError,
    ServerFinal,
    ServerFirst,
    auth_message,
    prove,
    salted_password,
    verify_server,
)

ASCII = "".join(map(chr, range(1, 128)))
PRINTABLE = "".join(map(chr, range(33, 127)))
NAMES = st.text(ASCII, min_size=1)
MAYBE_NAMES = st.text(ASCII)
NONCES = st.text(PRINTABLE.replace(",", ""), min_size=1)
TEXT = st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1)
EXTENSION_NAMES = st.text(string.ascii_letters, min_size=2).filter(lambda name: name != "auth")
SCRAM_EXTENSIONS = st.dictionaries(
    EXTENSION_NAMES, st.text(ASCII.replace(",", ""), min_size=1), max_size=3
)
BEARER_EXTENSIONS = st.dictionaries(
    EXTENSION_NAMES, st.text(PRINTABLE + " \t\r\n", min_size=1), max_size=3
)
BEARER_TOKENS = st.from_regex("[-_~+/.A-Za-z0-9]+=*", fullmatch=True)
SHOWN = st.text(st.characters(exclude_categories=("C", "Z"), include_characters=" "))
SALTS = st.binary(min_size=1, max_size=64)
ITERATIONS = st.integers(4096, 1_000_000)
CLIENT_FIRSTS = st.builds(
    ClientFirst,
    username=NAMES,
    nonce=NONCES,
    authzid=MAYBE_NAMES,
    extensions=SCRAM_EXTENSIONS,
)


@given(st.builds(PlainToken, TEXT, TEXT, TEXT | st.just("")))
def test_decoding_an_encoded_plain_token_returns_the_same_values(token: PlainToken) -> None:
    assert PlainToken.decode(token.encode()) == token


@given(CLIENT_FIRSTS, NONCES, SALTS, ITERATIONS, SCRAM_EXTENSIONS, st.binary(min_size=1))
def test_decoding_an_encoded_scram_message_returns_the_same_values(
    first: ClientFirst,
    nonce: str,
    salt: bytes,
    iterations: int,
    extensions: dict[str, str],
    proof: bytes,
) -> None:
    answer = ServerFirst(
        nonce=first.nonce + nonce, salt=salt, iterations=iterations, extensions=extensions
    )
    final = ClientFinal(
        channel_binding=first.gs2_header, nonce=answer.nonce, proof=proof, extensions=extensions
    )
    signature = ServerFinal(proof, extensions)

    assert ClientFirst.decode(first.encode()) == first
    assert ServerFirst.decode(answer.encode(), first) == answer
    assert ClientFinal.decode(final.encode(), first, answer) == final
    assert ServerFinal.decode(signature.encode()) == signature


@given(st.builds(OAuthBearerResponse, BEARER_TOKENS, MAYBE_NAMES, BEARER_EXTENSIONS))
def test_decoding_an_encoded_bearer_token_returns_the_same_values(
    response: OAuthBearerResponse,
) -> None:
    assert OAuthBearerResponse.decode(response.encode()) == response


@given(st.builds(OAuthBearerFailure, SHOWN, st.none() | SHOWN, st.none() | SHOWN))
def test_decoding_an_encoded_oauthbearer_failure_returns_the_same_values(
    failure: OAuthBearerFailure,
) -> None:
    assert OAuthBearerFailure.decode(failure.encode()) == failure


@settings(max_examples=25)
@given(st.sampled_from(ScramMechanism), CLIENT_FIRSTS, NONCES, TEXT, TEXT, SALTS)
def test_only_the_same_password_passes_the_verification(
    mechanism: ScramMechanism,
    first: ClientFirst,
    nonce: str,
    password: str,
    guess: str,
    salt: bytes,
) -> None:
    answer = ServerFirst(nonce=first.nonce + nonce, salt=salt, iterations=4096)
    salted = salted_password(mechanism, password, salt, 4096)
    guessed = salted_password(mechanism, guess, salt, 4096)
    credential = ScramCredential.from_salted_password(mechanism, salted, salt, 4096)

    final = prove(mechanism, guessed, first, answer)
    message = auth_message(first, answer, final)

    if guess == password:
        credential.verify_client(message, final)
        verify_server(mechanism, guessed, message, credential.sign(message))
    else:
        with pytest.raises(ScramProofError):
            credential.verify_client(message, final)
        with pytest.raises(ScramProofError):
            verify_server(mechanism, guessed, message, credential.sign(message))
