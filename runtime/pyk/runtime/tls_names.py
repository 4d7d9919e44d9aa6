"""Cipher suites by the names of Java and of OpenSSL. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

TLS_1_3 = "TLSv1.3"
IANA_TLS_1_3 = ("TLS_AES_", "TLS_CHACHA20_")


def openssl_ciphers(names: Iterable[str]) -> str | None:
    """Return cipher suites in OpenSSL's notation; None if all of them are of TLS 1.3.

    Names of Java, ``TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256``, are translated, others kept.
    """
    return ":".join(_openssl_name(one) for one in names if not one.startswith(IANA_TLS_1_3)) or None


def versions_with(suites: Collection[str], versions: tuple[str, ...]) -> tuple[str, ...]:
    """Return the versions that have some of these suites, all if there is no choice of suites.

    Python cannot choose among the suites of TLS 1.3, so that version always stays.
    """
    if suites and openssl_ciphers(suites) is None and TLS_1_3 in versions:
        return (TLS_1_3,)
    return versions


def _openssl_name(name: str) -> str:
    if not name.startswith("TLS_") or "_WITH_" not in name:
        return name
    exchange, cipher = name.removeprefix("TLS_").split("_WITH_", 1)
    cipher = cipher.replace("_CBC_", "_").replace("AES_", "AES")
    cipher = cipher.replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305")
    prefix = "" if exchange == "RSA" else f"{exchange}-"
    return (prefix + cipher).replace("_", "-")
