"""Delegation tokens, as the controller keeps them."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from pyk.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from pyk.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from pyk.protocol.schema import Message
from pyk.reference_broker.config.definition import Password
from pyk.reference_broker.controller.delegation_tokens import TokenSettings
from pyk.reference_broker.controller.requests import decide
from pyk.reference_broker.security.principal import Principal
from pyk.reference_broker.token_expiry import TokenExpiry
from pyk.runtime.timers import Moment, TimerQueue
from support.controllers import Controllers
from support.groups import Waiting

ALICE, BOB, CAROL = Principal("alice"), Principal("bob"), Principal("carol")
ENABLED = TokenSettings(secret_key=Password("key"), max_lifetime_ms=1000, expiry_time_ms=300)
NOW = 1_700_000_000_000


def new_controllers(settings: TokenSettings = ENABLED) -> Controllers:
    controllers = Controllers()
    controllers.shard.tokens = settings
    return controllers


def ask(
    controllers: Controllers, request: Message, requester: Principal = ALICE, after_ms: int = 0
) -> Any:
    deferred = controllers.runtime.ask(
        lambda shard, _: decide(shard, request, requester=requester, now_ms=NOW + after_ms),
        lambda code: code,
    )
    return Waiting(deferred).response


def create(
    controllers: Controllers, owner: Principal | None = None, max_lifetime_ms: int = -1
) -> CreateDelegationTokenResponse:
    request = CreateDelegationTokenRequest(
        owner_principal_type=owner and owner.kind,
        owner_principal_name=owner and owner.name,
        renewers=[CreatableRenewers(principal_type="User", principal_name="bob")],
        max_lifetime_ms=max_lifetime_ms,
    )
    response: CreateDelegationTokenResponse = ask(controllers, request)
    return response


def renew(controllers: Controllers, token_hmac: bytes, period_ms: int = -1, **asked: Any) -> Any:
    request = RenewDelegationTokenRequest(hmac=token_hmac, renew_period_ms=period_ms)
    return ask(controllers, request, **asked)


def expire(controllers: Controllers, token_hmac: bytes, period_ms: int = -1, **asked: Any) -> Any:
    request = ExpireDelegationTokenRequest(hmac=token_hmac, expiry_time_period_ms=period_ms)
    return ask(controllers, request, **asked)


def test_the_hmac_of_a_token_is_that_of_its_id_by_the_secret_key() -> None:
    token = create(new_controllers())

    assert token.hmac == hmac.new(b"key", token.token_id.encode(), hashlib.sha512).digest()
    assert len(token.token_id) == 22


def test_a_token_outlives_a_restart_without_its_hmac() -> None:
    controllers = new_controllers()
    token = create(controllers)
    controllers.restart()

    (record,) = controllers.shard.image.delegation_tokens.values()
    assert (record.owner, record.requester, record.renewers) == (
        "User:alice",
        "User:alice",
        ["User:bob"],
    )
    assert (record.token_id, record.issue_timestamp) == (token.token_id, NOW)
    assert not hasattr(record, "hmac")


def test_tokens_have_ids_of_their_own() -> None:
    controllers = new_controllers()

    assert create(controllers).token_id != create(controllers).token_id


@pytest.mark.parametrize(
    ("asked_ms", "expires_ms", "ends_ms"),
    [(-1, 300, 1000), (0, 300, 1000), (500, 300, 500), (100, 100, 100), (5000, 300, 1000)],
)
def test_the_life_of_a_token_is_what_was_asked_for_up_to_the_limits(
    asked_ms: int, expires_ms: int, ends_ms: int
) -> None:
    token = create(new_controllers(), max_lifetime_ms=asked_ms)

    assert token.issue_timestamp_ms == NOW
    assert token.expiry_timestamp_ms == NOW + expires_ms
    assert token.max_timestamp_ms == NOW + ends_ms


def test_a_token_for_somebody_else_names_both() -> None:
    token = create(new_controllers(), owner=Principal("g", "Group"))

    assert (token.principal_type, token.principal_name) == ("Group", "g")
    assert token.token_requester_principal_name == "alice"


@pytest.mark.parametrize(
    ("period_ms", "after_ms", "expires_ms"),
    [(-1, 100, 400), (0, 100, 400), (50, 100, 150), (5000, 100, 400), (-1, 250, 550)],
)
def test_a_renewed_token_expires_one_period_from_now(
    period_ms: int, after_ms: int, expires_ms: int
) -> None:
    controllers = new_controllers()
    token = create(controllers)

    response = renew(controllers, token.hmac, period_ms, after_ms=after_ms)

    assert (response.error_code, response.expiry_timestamp_ms) == (0, NOW + expires_ms)
    (record,) = controllers.shard.image.delegation_tokens.values()
    assert record.expiration_timestamp == NOW + expires_ms


def test_a_token_is_not_renewed_beyond_its_maximum() -> None:
    controllers = new_controllers(TokenSettings(secret_key=Password("key"), max_lifetime_ms=200))
    token = create(controllers)

    assert renew(controllers, token.hmac, after_ms=100).expiry_timestamp_ms == NOW + 200


@pytest.mark.parametrize("act", [renew, expire])
@pytest.mark.parametrize(
    ("requester", "code"),
    [
        (ALICE, ErrorCode.NONE),
        (BOB, ErrorCode.NONE),
        (CAROL, ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH),
    ],
)
def test_owners_and_renewers_change_a_token(act: Any, requester: Principal, code: int) -> None:
    controllers = new_controllers()

    response = act(controllers, create(controllers).hmac, requester=requester)

    assert response.error_code == code


@pytest.mark.parametrize("act", [renew, expire])
def test_who_creates_a_token_for_somebody_else_does_not_change_it(act: Any) -> None:
    controllers = new_controllers()
    token = create(controllers, owner=CAROL)

    assert act(controllers, token.hmac).error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH


@pytest.mark.parametrize("act", [renew, expire])
@pytest.mark.parametrize("unknown", [b"", b"x" * 64])
def test_an_unknown_hmac_finds_no_token(act: Any, unknown: bytes) -> None:
    controllers = new_controllers()
    create(controllers)

    assert act(controllers, unknown).error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND


@pytest.mark.parametrize("act", [renew, expire])
def test_an_expired_token_does_not_come_back(act: Any) -> None:
    controllers = new_controllers()
    token = create(controllers)

    response = act(controllers, token.hmac, period_ms=20, after_ms=301)

    assert response.error_code == ErrorCode.DELEGATION_TOKEN_EXPIRED


@pytest.mark.parametrize(
    ("act", "code"),
    [
        (renew, ErrorCode.DELEGATION_TOKEN_EXPIRED),
        (expire, ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH),
    ],
)
def test_what_a_stranger_is_told_of_an_expired_token_is_as_in_kafka(act: Any, code: int) -> None:
    controllers = new_controllers()
    token = create(controllers)

    response = act(controllers, token.hmac, after_ms=301, requester=CAROL)

    assert response.error_code == code


@pytest.mark.parametrize("after_ms", [7, 301])
def test_a_negative_period_removes_a_token_at_once(after_ms: int) -> None:
    controllers = new_controllers()
    token = create(controllers)

    response = expire(controllers, token.hmac, period_ms=-1, after_ms=after_ms)

    assert (response.error_code, response.expiry_timestamp_ms) == (0, NOW + after_ms)
    assert controllers.shard.image.delegation_tokens == {}


@pytest.mark.parametrize(("period_ms", "expires_ms"), [(0, 7), (20, 27), (1 << 62, 1000)])
def test_a_period_sets_when_a_token_expires(period_ms: int, expires_ms: int) -> None:
    controllers = new_controllers()
    token = create(controllers)

    response = expire(controllers, token.hmac, period_ms, after_ms=7)

    assert response.expiry_timestamp_ms == NOW + expires_ms
    kept = controllers.shard.image.delegation_tokens[token.token_id]
    assert kept.expiration_timestamp == NOW + expires_ms


@pytest.mark.parametrize("key", [None, Password("")])
def test_without_a_secret_key_there_are_no_tokens(key: Password | None) -> None:
    controllers = new_controllers(TokenSettings(secret_key=key))

    assert create(controllers).error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    assert renew(controllers, b"").error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    assert expire(controllers, b"").error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    assert controllers.shard.image.delegation_tokens == {}


def test_expired_tokens_are_removed_from_time_to_time() -> None:
    controllers = new_controllers()
    short = create(controllers, max_lifetime_ms=100)
    long = create(controllers)
    timers, moment = TimerQueue(lambda _: None), Moment(5.0, NOW)
    controllers.runtime._moment = lambda: moment
    TokenExpiry(controllers.runtime, timers, lambda: moment, 200).schedule()

    moment = Moment(5.2, NOW + 200)
    timers.advance(5.2)

    assert list(controllers.shard.image.delegation_tokens) == [long.token_id]
    assert short.token_id != long.token_id
    assert timers.next_deadline() == pytest.approx(5.4)


def test_the_secret_key_is_not_shown() -> None:
    assert "key" not in repr(TokenSettings(secret_key=Password("key"))).replace("secret_key", "")


def test_tokens_need_a_level_of_metadata_that_knows_them() -> None:
    controllers = new_controllers()
    token = create(controllers)
    controllers.shard.image.features["metadata.version"] = 13

    unsupported = ErrorCode.UNSUPPORTED_VERSION
    assert create(controllers).error_code == unsupported
    for request in (
        RenewDelegationTokenRequest(hmac=token.hmac),
        ExpireDelegationTokenRequest(hmac=token.hmac),
    ):
        assert ask(controllers, request).error_code == unsupported
