"""What is wrong with a certificate and its key, as far as their texts tell."""

from __future__ import annotations

import pytest

from pyk.runtime.identity_problems import IdentityOptions, identity_problem

CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----\n"
LOCKED = KEY.replace("PRIVATE", "ENCRYPTED PRIVATE")
OLD_LOCKED = (
    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\ncanary\n"
    "-----END RSA PRIVATE KEY-----\n"
)
OPTIONS = IdentityOptions("chain", "key", "password")


@pytest.mark.parametrize(
    ("certificates", "key", "reason", "problem"),
    [
        (CERTIFICATE, None, None, "chain has no private key: give key"),
        (KEY, CERTIFICATE, None, "chain has a private key, and key a certificate: swap them"),
        (CERTIFICATE, CERTIFICATE, None, "key has no private key in PEM"),
        (CERTIFICATE, "/path/of/a.key", None, "key has no private key in PEM"),
        (KEY, None, None, "chain has no certificate in PEM"),
        ("", KEY, None, "chain has no certificate in PEM"),
        (
            CERTIFICATE,
            KEY,
            "KEY_VALUES_MISMATCH",
            "the private key in key does not belong to the certificate",
        ),
        (CERTIFICATE, LOCKED, None, "the private key in key is encrypted: give password"),
        (CERTIFICATE, OLD_LOCKED, None, "the private key in key is encrypted: give password"),
        (
            CERTIFICATE + LOCKED,
            None,
            None,
            "the private key in chain is encrypted: give password",
        ),
        (CERTIFICATE, KEY, None, None),
    ],
)
def test_a_problem_names_the_option_to_change(
    certificates: str, key: str | None, reason: str | None, problem: str | None
) -> None:
    found = identity_problem(certificates, key, has_password=False, reason=reason, options=OPTIONS)

    assert found == problem


@pytest.mark.parametrize("key", [LOCKED, OLD_LOCKED])
def test_a_password_that_does_not_open_the_key_is_named(key: str) -> None:
    found = identity_problem(CERTIFICATE, key, has_password=True, reason=None, options=OPTIONS)

    assert found == "password does not open the private key in key"
