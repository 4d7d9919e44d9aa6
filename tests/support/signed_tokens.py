"""Keys of an identity provider, and tokens that are signed with them."""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Mapping
from typing import Any

import attrs
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

HASHES = {"256": hashes.SHA256, "384": hashes.SHA384, "512": hashes.SHA512}
CURVES = {"ES256": ec.SECP256R1, "ES384": ec.SECP384R1, "ES512": ec.SECP521R1}


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value: int, size: int | None = None) -> str:
    return base64url(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))


@functools.cache
def rsa_key(kid: str) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


@attrs.frozen
class SigningKey:
    """A key with its name and algorithm."""

    kid: str
    algorithm: str
    private: Any

    @classmethod
    def rs256(cls, kid: str, algorithm: str = "RS256") -> SigningKey:
        """Return a key that is made once in a process."""
        return cls(kid, algorithm, rsa_key(kid))

    @classmethod
    def elliptic(cls, kid: str, algorithm: str = "ES256") -> SigningKey:
        return cls(kid, algorithm, ec.generate_private_key(CURVES[algorithm]()))

    def sign(self, claims: Mapping[str, Any], **header: Any) -> str:
        head = {"alg": self.algorithm, "kid": self.kid, "typ": "JWT"} | header
        signed = ".".join(base64url(json.dumps(part).encode()) for part in (head, claims))
        return f"{signed}.{base64url(self.signature(signed.encode()))}"

    def signature(self, data: bytes) -> bytes:
        algorithm = HASHES[self.algorithm[2:]]()
        if self.algorithm.startswith("RS"):
            return bytes(self.private.sign(data, padding.PKCS1v15(), algorithm))
        if self.algorithm.startswith("PS"):
            size = algorithm.digest_size
            return bytes(
                self.private.sign(data, padding.PSS(padding.MGF1(algorithm), size), algorithm)
            )
        r, s = decode_dss_signature(self.private.sign(data, ec.ECDSA(algorithm)))
        size = (self.private.key_size + 7) // 8
        return r.to_bytes(size, "big") + s.to_bytes(size, "big")

    def jwk(self, **members: Any) -> dict[str, Any]:
        """Return the public key as a JSON Web Key (RFC 7517)."""
        public = self.private.public_key().public_numbers()
        shown = {"kid": self.kid, "use": "sig", "alg": self.algorithm}
        if isinstance(self.private, rsa.RSAPrivateKey):
            return shown | {"kty": "RSA", "n": number(public.n), "e": number(public.e)} | members
        size = (self.private.key_size + 7) // 8
        curve = f"P-{self.private.key_size}"
        x, y = number(public.x, size), number(public.y, size)
        return shown | {"kty": "EC", "crv": curve, "x": x, "y": y} | members

    def pem(self, password: str | None = None) -> bytes:
        encryption = BestAvailableEncryption(password.encode()) if password else NoEncryption()
        return bytes(self.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))
