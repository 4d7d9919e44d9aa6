"""The computations of SCRAM (RFC 5802, section 3), from a password to proof and signature.

::

    salted password = PBKDF2(password, salt, iterations)
    client key      = HMAC(salted password, "Client Key")
    stored key      = H(client key)                          kept by the server
    server key      = HMAC(salted password, "Server Key")    kept by the server
    proof           = client key XOR HMAC(stored key, auth message)
    signature       = HMAC(server key, auth message)

Passwords are hashed as UTF-8 and not prepared by SASLprep (RFC 4013), because Kafka does not do it
either: a password with letters that SASLprep changes would fit no credential that Kafka made.
"""

from __future__ import annotations

import hashlib
import hmac
from enum import Enum
from typing import Self

import attrs

from pyk.protocol.errors import EncodeError
from pyk.runtime import slotted

from .errors import ScramProofError
from .scram_messages import ClientFinal, ClientFirst, ServerFinal, ServerFirst


class ScramMechanism(Enum):
    """The mechanisms that Kafka has; values are the names in SaslHandshake."""

    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"

    @property
    def hash_name(self) -> str:
        """The name of the hash function in :mod:`hashlib`."""
        return "sha256" if self is ScramMechanism.SCRAM_SHA_256 else "sha512"


def salted_password(
    mechanism: ScramMechanism, password: str, salt: bytes, iterations: int
) -> bytes:
    """Return the hash of a password from which all else is made: as secret as the password.

    This takes the time: 4096 iterations some milliseconds, a million about a second. Other threads
    run meanwhile. Raises EncodeError if the password is empty or cannot be written as UTF-8.
    """
    # Not strictly, for the error of that would hold the password.
    secret = password.encode(errors="replace")
    if not secret or secret.decode() != password:
        raise EncodeError("password is empty, or has half of a surrogate pair in it")
    return hashlib.pbkdf2_hmac(mechanism.hash_name, secret, salt, iterations)


def auth_message(
    client_first: ClientFirst, server_first: ServerFirst, client_final: ClientFinal
) -> bytes:
    """Return what both sides sign: all that was said before the proof."""
    return b",".join((client_first.bare, server_first.encode(), client_final.without_proof))


# The client's side.


def prove(
    mechanism: ScramMechanism, salted: bytes, client_first: ClientFirst, server_first: ServerFirst
) -> ClientFinal:
    """Return the client's answer to ``server_first``, with its proof."""
    unproven = ClientFinal(channel_binding=client_first.gs2_header, nonce=server_first.nonce)
    client_key = _hmac(mechanism, salted, b"Client Key")
    stored_key = hashlib.new(mechanism.hash_name, client_key).digest()
    message = auth_message(client_first, server_first, unproven)
    return attrs.evolve(unproven, proof=_xor(client_key, _hmac(mechanism, stored_key, message)))


def verify_server(
    mechanism: ScramMechanism, salted: bytes, message: bytes, server_final: ServerFinal
) -> None:
    """Raise ScramProofError unless the signature of ``message`` comes from the same password."""
    server_key = _hmac(mechanism, salted, b"Server Key")
    if not hmac.compare_digest(_hmac(mechanism, server_key, message), server_final.signature):
        raise ScramProofError("the server's signature does not come from this password")


# The server's side.


@slotted.frozen(kw_only=True)
class ScramCredential:
    """The credential that a server keeps: enough to verify a password, not to log in with it."""

    mechanism: ScramMechanism
    salt: bytes
    iterations: int
    stored_key: bytes = slotted.field(repr=False)
    server_key: bytes = slotted.field(repr=False)

    @classmethod
    def from_salted_password(
        cls, mechanism: ScramMechanism, salted: bytes, salt: bytes, iterations: int
    ) -> Self:
        """Return the credential for what AlterUserScramCredentials brings (KIP-554)."""
        client_key = _hmac(mechanism, salted, b"Client Key")
        return cls(
            mechanism=mechanism,
            salt=salt,
            iterations=iterations,
            stored_key=hashlib.new(mechanism.hash_name, client_key).digest(),
            server_key=_hmac(mechanism, salted, b"Server Key"),
        )

    def verify_client(self, message: bytes, client_final: ClientFinal) -> None:
        """Raise ScramProofError unless the proof for ``message`` comes from this password."""
        signature = _hmac(self.mechanism, self.stored_key, message)
        is_whole = len(client_final.proof) == len(signature)
        client_key = _xor(client_final.proof, signature) if is_whole else b""
        found = hashlib.new(self.mechanism.hash_name, client_key).digest()
        if not hmac.compare_digest(found, self.stored_key):
            raise ScramProofError("the client's proof does not come from this password")

    def sign(self, message: bytes) -> ServerFinal:
        """Return the server's last message, for a client that was verified."""
        return ServerFinal(_hmac(self.mechanism, self.server_key, message))


def _hmac(mechanism: ScramMechanism, key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, mechanism.hash_name)


def _xor(first: bytes, second: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(first, second, strict=True))
