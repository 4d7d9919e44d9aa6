"""Bearer tokens without a signature."""

from __future__ import annotations

import pytest

from pyk.reference_broker.security.bearer_tokens import InvalidBearerTokenError, read_unsecured
from pyk.reference_broker.security.principal import Login, Principal
from support.bearer_tokens import unsecured

NOW = 1_000


def test_a_token_names_its_user_and_its_end() -> None:
    login = read_unsecured(unsecured(sub="alice", iat=NOW - 1, exp=NOW + 1), NOW * 1000)

    assert login == Login(Principal("alice"), (NOW + 1) * 1000)


def test_a_token_may_be_issued_now() -> None:
    assert read_unsecured(unsecured(sub="alice", iat=NOW, exp=NOW + 1), NOW * 1000)


def test_a_token_is_valid_within_the_millisecond_in_which_it_was_issued() -> None:
    token = unsecured(sub="alice", iat=NOW + 0.0009, exp=NOW + 1)

    assert read_unsecured(token, NOW * 1000)
    with pytest.raises(InvalidBearerTokenError, match="future"):
        read_unsecured(token, NOW * 1000 - 1)


@pytest.mark.parametrize(
    "token",
    [
        "",
        "a.b",
        "a.b.c",
        "!.!.",
        "W10.W10.",
        unsecured(sub="alice"),
        unsecured(sub="alice", exp=NOW),
        unsecured(sub="alice", exp="soon"),
        unsecured(sub="alice", exp=True),
        unsecured(sub="alice", exp=1e300),
        unsecured(sub="alice", iat=NOW + 1, exp=NOW + 2),
        unsecured(sub="", exp=NOW + 1),
        unsecured(sub=["alice"], exp=NOW + 1),
        unsecured(exp=NOW + 1),
        unsecured(alg="HS256", sub="alice", exp=NOW + 1),
        unsecured(sub="alice", exp=NOW + 1) + "c2ln",
    ],
)
def test_other_tokens_are_invalid(token: str) -> None:
    with pytest.raises(InvalidBearerTokenError):
        read_unsecured(token, NOW * 1000)
