"""Read certificates and keys in the formats of Java's key stores. Pure."""

from __future__ import annotations

from pyk.runtime import slotted
from pyk.runtime.secret import HIDDEN, Secret

JKS = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
CONVERT = (
    "convert it: keytool -importkeystore -srckeystore FILE -destkeystore NEW.p12 "
    "-deststoretype PKCS12"
)
INSTALL = (
    "it is PKCS12, which needs the package 'cryptography': pip install 'pyk-kafka[tls]', or "
    "convert it to PEM"
)


DER = (
    "it is a certificate in DER; convert it: openssl x509 -inform der -in FILE -outform pem -out "
    "NEW.pem"
)


class StoreError(Exception):
    """A store that cannot be read; the text says why."""


class StoreLockedError(StoreError):
    """A store whose password is missing or wrong, as far as that can be told."""


@slotted.frozen
class Store:
    """What a store holds, in PEM."""

    certificates: str
    """The key may be among them, if the file is in PEM."""
    key: Secret | None = None

    def __repr__(self) -> str:
        return f"Store({HIDDEN})"


def pem_of(data: bytes, password: Secret | None) -> Store:
    """Return the contents of a file in PEM or PKCS12, which is recognised by its first bytes.

    Raises :class:`StoreError`, or ``ValueError`` if it is no such file.
    """
    if b"-----BEGIN" in data:
        return Store(data.decode("utf-8", "replace"))
    if data.startswith(JKS):
        raise StoreError(f"it is in Java's old format JKS; {CONVERT}")
    if not data.startswith(b"\x30"):
        raise StoreError("it is neither PEM nor PKCS12")
    return _pkcs12(data, password)


def _pkcs12(data: bytes, password: Secret | None) -> Store:
    try:
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
            pkcs12,
        )
    except ImportError:
        raise StoreError(INSTALL) from None
    try:
        store = pkcs12.load_pkcs12(data, password.reveal().encode() if password else None)
    except ValueError:
        if _is_certificate(data):
            raise StoreError(DER) from None
        what = "wrong" if password else "missing"
        raise StoreLockedError(f"its password is {what}, or it is damaged") from None
    found = [store.cert, *store.additional_certs]
    pem = "".join(
        one.certificate.public_bytes(Encoding.PEM).decode("ascii") for one in found if one
    )
    if not pem:
        raise StoreError("it has no certificate")
    if store.key is None:
        return Store(pem)
    return Store(
        pem,
        Secret(store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()),
    )


def _is_certificate(data: bytes) -> bool:
    from cryptography.x509 import load_der_x509_certificate

    try:
        load_der_x509_certificate(data)
    except ValueError:
        return False
    return True
