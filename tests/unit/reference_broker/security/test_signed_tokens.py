"""Bearer tokens that an identity provider signed: who is let in, and until when."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from pyk.reference_broker.security.bearer_tokens import InvalidBearerTokenError
from pyk.reference_broker.security.json_web_keys import InvalidKeySetError, KeySet, parse_key_set
from pyk.reference_broker.security.principal import Login, Principal
from pyk.reference_broker.security.signed_tokens import TokenRules, read_signed
from support.bearer_tokens import unsecured
from support.signed_tokens import SigningKey, base64url

NOW = 1_000_000
KEY = SigningKey.rs256("first")
OTHER = SigningKey.rs256("second")
CLAIMS = {"sub": "alice", "iat": NOW - 10, "exp": NOW + 60}
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"]


def key_of(algorithm: str) -> SigningKey:
    if algorithm.startswith("ES"):
        return SigningKey.elliptic("first", algorithm)
    return SigningKey.rs256("first", algorithm)


def keys(*shown: SigningKey, **members: Any) -> KeySet:
    return parse_key_set(json.dumps({"keys": [key.jwk(**members) for key in shown]}).encode())


def read(token: str, known: KeySet | None = None, **rules: Any) -> Login:
    known = known or keys(KEY, OTHER)
    return read_signed(token, known.verifies, TokenRules(**rules), NOW * 1000)


def refusal(token: str, known: KeySet | None = None, **rules: Any) -> str:
    with pytest.raises(InvalidBearerTokenError) as caught:
        read(token, known, **rules)
    assert caught.value.status == "invalid_token"
    return str(caught.value)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_token_that_the_provider_signed_names_its_user(algorithm: str) -> None:
    key = key_of(algorithm)

    login = read(key.sign(CLAIMS), keys(key))

    assert login == Login(Principal("alice"), (NOW + 60) * 1000)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_signature_holds_for_what_was_signed_and_no_more(algorithm: str) -> None:
    key, another = key_of(algorithm), key_of(algorithm)
    if not algorithm.startswith("ES"):
        another = SigningKey.rs256("second", algorithm)
    header, _, signature = key.sign(CLAIMS).split(".")
    claims = base64url(json.dumps(CLAIMS | {"sub": "admin"}).encode())
    raw = base64.urlsafe_b64decode(signature + "==")

    assert "no key" in refusal(f"{header}.{claims}.{signature}", keys(key))
    assert "no key" in refusal(another.sign(CLAIMS, kid="first"), keys(key))
    for damaged in (b"", raw[:-1], raw + b"\0", bytes(len(raw)), raw[::-1]):
        text = key.sign(CLAIMS).rpartition(".")[0]
        assert "no key" in refusal(f"{text}.{base64url(damaged)}", keys(key))


def test_without_a_signature_nobody_is_let_in() -> None:
    for algorithm in ("none", "None", "nOnE"):
        assert "not signed" in refusal(unsecured(alg=algorithm, **CLAIMS))
    header = base64url(json.dumps({"alg": "none", "kid": "first"}).encode())
    claims = base64url(json.dumps(CLAIMS).encode())
    assert "not signed" in refusal(f"{header}.{claims}.{base64url(b'x')}")


def test_the_public_key_is_no_secret_to_sign_with() -> None:
    """A token of HS256 whose key is the public one would be made by anybody."""
    assert "no key" in refusal(KEY.sign(CLAIMS, alg="HS256"))
    assert "no key" in refusal(KEY.sign(CLAIMS, alg="RS1"))
    assert "no key" in refusal(KEY.sign(CLAIMS, alg=""))


def test_a_key_is_used_for_its_own_algorithm_only() -> None:
    token = SigningKey.rs256("first", "PS256").sign(CLAIMS)

    assert "no key" in refusal(token, keys(KEY))
    assert read(token, keys(KEY, alg="PS256"))
    assert "no key" in refusal(KEY.sign(CLAIMS, kid="another"))


def test_a_token_that_names_no_key_may_be_of_any() -> None:
    for key in (KEY, OTHER):
        assert read(key.sign(CLAIMS, kid=None))


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({"exp": None}, "exp or iat is missing"),
        ({"iat": None}, "exp or iat is missing"),
        ({"exp": NOW - 30, "iat": NOW - 60}, "expired"),
        ({"exp": NOW + 60, "iat": NOW + 61}, "before iat or nbf"),
        ({"exp": NOW + 20, "nbf": NOW + 21}, "before iat or nbf"),
        ({"exp": "soon"}, "exp is not a time"),
        ({"exp": True}, "exp is not a time"),
        ({"exp": 1e300}, "exp is not a time"),
        ({"nbf": NOW + 31}, "not valid yet"),
        ({"sub": None}, "sub is not a name"),
        ({"sub": ""}, "sub is not a name"),
        ({"sub": ["alice"]}, "sub is not a name"),
        ({"aud": "kafka"}, "aud has none"),
        ({"scope": ["a", "a"]}, "the scope"),
        ({"scope": [" "]}, "the scope"),
        ({"scope": " "}, "the scope"),
        ({"scope": ""}, "the scope"),
        ({"scope": ["a", 1]}, "the scope"),
    ],
)
def test_other_tokens_are_refused(claims: dict[str, Any], words: str) -> None:
    given = {name: value for name, value in (CLAIMS | claims).items() if value is not None}

    assert words in refusal(KEY.sign(given))


@pytest.mark.parametrize(
    "claims", [{"exp": NOW - 29, "iat": NOW - 90}, {"nbf": NOW + 30}, {"iat": NOW + 60}]
)
def test_clocks_may_differ_a_little(claims: dict[str, Any]) -> None:
    assert read(KEY.sign(CLAIMS | claims))


@pytest.mark.parametrize(
    ("claims", "rules", "is_accepted"),
    [
        ({"aud": "kafka"}, {"audiences": ("kafka",)}, True),
        ({"aud": ["web", "kafka"]}, {"audiences": ("kafka", "other")}, True),
        ({"aud": ["web"]}, {"audiences": ("kafka",)}, False),
        ({"aud": 1}, {"audiences": ("kafka",)}, False),
        ({}, {"audiences": ("kafka",)}, False),
        ({"iss": "https://login.example"}, {"issuer": "https://login.example"}, True),
        ({"iss": "https://login.example/"}, {"issuer": "https://login.example"}, False),
        ({}, {"issuer": "https://login.example"}, False),
        ({"iss": "https://login.example"}, {}, True),
        ({"scp": ["a", "b"]}, {"scope_claim": "scp"}, True),
        ({"scope": "a b"}, {}, True),
    ],
)
def test_tokens_must_be_for_this_cluster(
    claims: dict[str, Any], rules: dict[str, Any], is_accepted: bool
) -> None:
    token = KEY.sign(CLAIMS | claims)

    if is_accepted:
        assert read(token, **rules)
    else:
        refusal(token, **rules)


def test_another_claim_may_name_the_user() -> None:
    token = KEY.sign(CLAIMS | {"client_id": "shop"})

    assert read(token, subject_claim="client_id").principal == Principal("shop")


@pytest.mark.parametrize("token", ["", "a.b", "a.b.c", "..", "a.b.c.d.e", "é.é.é"])
def test_what_is_no_token_is_refused(token: str) -> None:
    refusal(token)


def test_a_header_with_critical_parts_is_refused() -> None:
    assert "critical" in refusal(KEY.sign(CLAIMS, crit=["b64"], b64=False))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"keys": {}}',
        '{"keys": []}',
        '{"keys": [1, {}, {"kty": "oct", "k": "c2VjcmV0"}, {"kty": "RSA"}]}',
        '{"keys": [{"kty": "EC", "crv": "P-256", "x": "AQ", "y": "AQ"}]}',
        '{"keys": [{"kty": "RSA", "n": "AQAB", "e": "AQAB"}]}',
    ],
)
def test_what_has_no_key_for_signatures_is_refused(text: str) -> None:
    with pytest.raises(InvalidKeySetError):
        parse_key_set(text.encode())


@pytest.mark.parametrize(
    ("members", "count"),
    [({"use": "enc"}, 1), ({"alg": "RS1"}, 1), ({"kid": "x" * 1001}, 1), ({}, 101)],
    ids=["for encryption", "unknown algorithm", "long id", "too many"],
)
def test_keys_that_cannot_be_used_are_refused(members: dict[str, str], count: int) -> None:
    with pytest.raises(InvalidKeySetError):
        keys(*[KEY] * count, **members)


def test_an_rsa_key_of_too_few_bits_is_refused() -> None:
    weak = SigningKey("weak", "RS256", rsa.generate_private_key(65537, 1024))

    with pytest.raises(InvalidKeySetError):
        keys(weak)


def test_keys_that_are_not_understood_are_left_out() -> None:
    shown = [{"kty": "OKP", "crv": "Ed25519", "x": "AQ"}, KEY.jwk()]

    known = parse_key_set(json.dumps({"keys": shown}).encode())

    assert read(KEY.sign(CLAIMS), known)
