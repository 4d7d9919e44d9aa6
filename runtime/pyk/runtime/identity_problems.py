"""Explain why a certificate and its key cannot be used, from their texts in PEM. Pure."""

from __future__ import annotations

from pyk.runtime import slotted

CERTIFICATE = "-----BEGIN CERTIFICATE-----"
TRUSTED_CERTIFICATE = "-----BEGIN TRUSTED CERTIFICATE-----"
KEY = "PRIVATE KEY-----"
ENCRYPTED = ("-----BEGIN ENCRYPTED PRIVATE KEY-----", "Proc-Type: 4,ENCRYPTED")
MISMATCH = "KEY_VALUES_MISMATCH"


@slotted.frozen
class IdentityOptions:
    """The names of the options that errors are about."""

    certificates: str
    key: str
    password: str


def identity_problem(
    certificates: str,
    key: str | None,
    *,
    has_password: bool,
    reason: str | None,
    options: IdentityOptions,
) -> str | None:
    """Return what is wrong with them, without any of their contents; None if it is not known.

    ``key`` is None if the key is expected beside the certificates. ``reason`` is OpenSSL's.
    """
    if KEY not in (certificates if key is None else key):
        return _missing_key(certificates, key, options)
    if not _has_certificate(certificates):
        return f"{options.certificates} has no certificate in PEM"
    named = options.certificates if key is None else options.key
    if reason == MISMATCH:
        return f"the private key in {named} does not belong to the certificate"
    if not any(mark in (key or certificates) for mark in ENCRYPTED):
        return None
    if has_password:
        return f"{options.password} does not open the private key in {named}"
    return f"the private key in {named} is encrypted: give {options.password}"


def _missing_key(certificates: str, key: str | None, options: IdentityOptions) -> str:
    if key is None:
        return f"{options.certificates} has no private key: give {options.key}"
    if _has_certificate(key) and KEY in certificates:
        return (
            f"{options.certificates} has a private key, and {options.key} a certificate: swap them"
        )
    return f"{options.key} has no private key in PEM"


def _has_certificate(text: str) -> bool:
    return CERTIFICATE in text or TRUSTED_CERTIFICATE in text
