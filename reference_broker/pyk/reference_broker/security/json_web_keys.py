"""The public keys of an identity provider: a JSON Web Key Set (RFC 7517), and what it verifies.
Pure.

Keys that are not understood are left out: a provider may have kinds that nobody here asks for.
Signatures are verified by the package ``cryptography``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyk.protocol.sasl import MalformedTokenError
from pyk.protocol.sasl.json_web_tokens import JsonWebToken, from_base64url, json_object
from pyk.runtime import slotted

LONGEST_KEY_ID = 1000
"""As in Kafka: the id of a key is kept, so it must not be as long as a token."""
MOST_KEYS = 100
SMALLEST_RSA_KEY = 2048
LARGEST_RSA_KEY = 16_384
CURVES = {"ES256": ("P-256", 32), "ES384": ("P-384", 48), "ES512": ("P-521", 66)}
RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")


class InvalidKeySetError(Exception):
    """What was fetched is not a set of keys, or has none that can be used."""


class CryptographyMissingError(Exception):
    """Signatures cannot be verified."""

    def __init__(self) -> None:
        super().__init__("tokens are verified by the package 'cryptography': pyk-kafka[tls]")


@slotted.frozen
class VerificationKey:
    """A public key, and the algorithms that it is for."""

    key_id: str | None
    algorithms: tuple[str, ...]
    public: Any
    """Of cryptography."""

    def verifies(self, token: JsonWebToken) -> bool:
        """Return whether the signature of a token is of this key, by the token's algorithm."""
        algorithm = token.header.get("alg")
        if algorithm not in self.algorithms:
            return False
        from cryptography.exceptions import InvalidSignature

        try:
            _verify(self.public, str(algorithm), token)
        except InvalidSignature:
            return False
        return True


@slotted.frozen
class KeySet:
    """The keys of a provider as of one moment."""

    keys: tuple[VerificationKey, ...]

    def has(self, key_id: str) -> bool:
        """Return whether there is a key of this id."""
        return any(key.key_id == key_id for key in self.keys)

    def verifies(self, token: JsonWebToken) -> bool:
        """Return whether one of the keys signed a token: the one that it names, if it names one."""
        named = token.header.get("kid")
        return any(key.verifies(token) for key in self.keys if named is None or key.key_id == named)


def parse_key_set(data: bytes) -> KeySet:
    """Return the keys of a JSON Web Key Set; raise :class:`InvalidKeySetError`.

    Raises :class:`CryptographyMissingError` without that package.
    """
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise CryptographyMissingError from None
    try:
        listed = json_object(data).get("keys")
    except MalformedTokenError as error:
        raise InvalidKeySetError(str(error)) from None
    if not isinstance(listed, list) or len(listed) > MOST_KEYS:
        raise InvalidKeySetError(f"it has no list of at most {MOST_KEYS} keys")
    keys = [key for each in listed if isinstance(each, dict) and (key := _key(each)) is not None]
    if not keys:
        raise InvalidKeySetError("it has no key that verifies signatures")
    return KeySet(tuple(keys))


def _key(members: Mapping[str, Any]) -> VerificationKey | None:
    if members.get("use", "sig") != "sig":
        return None
    key_id, algorithm = members.get("kid"), members.get("alg")
    if key_id is not None and not (isinstance(key_id, str) and len(key_id) <= LONGEST_KEY_ID):
        return None
    try:
        algorithms, public = _public(members)
    except (MalformedTokenError, KeyError, TypeError, ValueError):
        return None
    fitting = tuple(one for one in algorithms if algorithm in (None, one))
    return VerificationKey(key_id, fitting, public) if fitting else None


def _public(members: Mapping[str, Any]) -> tuple[tuple[str, ...], Any]:
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    if members["kty"] == "RSA":
        modulus = _number(members["n"])
        if not SMALLEST_RSA_KEY <= modulus.bit_length() <= LARGEST_RSA_KEY:
            raise ValueError
        return RSA, rsa.RSAPublicNumbers(_number(members["e"]), modulus).public_key()
    if members["kty"] == "EC":
        curves: dict[str, ec.EllipticCurve] = {
            "P-256": ec.SECP256R1(),
            "P-384": ec.SECP384R1(),
            "P-521": ec.SECP521R1(),
        }
        curve = curves[members["crv"]]
        numbers = ec.EllipticCurvePublicNumbers(_number(members["x"]), _number(members["y"]), curve)
        names = tuple(name for name, (crv, _) in CURVES.items() if crv == members["crv"])
        return names, numbers.public_key()
    raise ValueError


def _number(text: str) -> int:
    return int.from_bytes(from_base64url(text), "big")


def _verify(public: Any, algorithm: str, token: JsonWebToken) -> None:
    """Raise ``InvalidSignature`` unless the signature is of this key."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, padding, utils

    digests: dict[str, hashes.HashAlgorithm] = {
        "256": hashes.SHA256(),
        "384": hashes.SHA384(),
        "512": hashes.SHA512(),
    }
    digest = digests[algorithm[2:]]
    if algorithm.startswith("RS"):
        public.verify(token.signature, token.signed, padding.PKCS1v15(), digest)
    elif algorithm.startswith("PS"):
        salted = padding.PSS(padding.MGF1(digest), digest.digest_size)
        public.verify(token.signature, token.signed, salted, digest)
    else:
        size = CURVES[algorithm][1]
        if len(token.signature) != 2 * size:
            raise InvalidSignature
        r, s = (
            int.from_bytes(half, "big") for half in (token.signature[:size], token.signature[size:])
        )
        public.verify(utils.encode_dss_signature(r, s), token.signed, ec.ECDSA(digest))
