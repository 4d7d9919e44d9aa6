"""Cipher suites by the names of Java and of OpenSSL."""

from __future__ import annotations

import pytest

from pyk.runtime.tls_names import openssl_ciphers, versions_with

BOTH = ("TLSv1.2", "TLSv1.3")


@pytest.mark.parametrize(
    ("suites", "ciphers"),
    [
        (["TLS_AES_256_GCM_SHA384"], None),
        (["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"], "ECDHE-RSA-AES128-GCM-SHA256"),
        (["TLS_RSA_WITH_AES_256_CBC_SHA256"], "AES256-SHA256"),
        (
            ["TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-AES256-GCM-SHA384"],
            "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-AES256-GCM-SHA384",
        ),
    ],
)
def test_cipher_suites_of_java_are_translated(suites: list[str], ciphers: str | None) -> None:
    assert openssl_ciphers(suites) == ciphers


@pytest.mark.parametrize(
    ("suites", "versions", "left"),
    [
        ([], BOTH, BOTH),
        (["TLS_AES_256_GCM_SHA384"], BOTH, ("TLSv1.3",)),
        (["TLS_AES_256_GCM_SHA384"], ("TLSv1.2",), ("TLSv1.2",)),
        (["TLS_AES_256_GCM_SHA384", "AES256-SHA256"], BOTH, BOTH),
        (["AES256-SHA256"], BOTH, BOTH),
    ],
)
def test_an_older_version_is_not_used_if_none_of_its_suites_is_wanted(
    suites: list[str], versions: tuple[str, ...], left: tuple[str, ...]
) -> None:
    assert versions_with(suites, versions) == left
