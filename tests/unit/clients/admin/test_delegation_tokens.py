"""Delegation tokens: created, renewed, expired and described, and what logs in with them."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients import (
    DelegationToken,
    DelegationTokenAuthDisabledError,
    DelegationTokenNotFoundError,
    KafkaPrincipal,
    Scram,
    Secret,
)
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from pyk.protocol.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from pyk.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from pyk.protocol.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from pyk.runtime.virtual_time import virtual_time
from support.administering import administered

ALICE, BOB = KafkaPrincipal("User", "alice"), KafkaPrincipal("User", "bob")
TOKEN = DelegationToken(
    token_id="id",
    hmac=Secret("Y2FuYXJ5"),
    owner=ALICE,
    token_requester=ALICE,
    renewers=(BOB,),
    issue_timestamp_ms=1,
    expiry_timestamp_ms=2,
    max_timestamp_ms=3,
)


def created(request: CreateDelegationTokenRequest) -> CreateDelegationTokenResponse:
    return CreateDelegationTokenResponse(
        principal_type="User",
        principal_name=request.owner_principal_name or "alice",
        token_requester_principal_type="User",
        token_requester_principal_name="alice",
        issue_timestamp_ms=1,
        expiry_timestamp_ms=2,
        max_timestamp_ms=3,
        token_id="id",
        hmac=b"canary",
    )


@virtual_time
async def test_a_token_of_the_caller_is_created() -> None:
    async with administered() as (cluster, admin):
        cluster.on(CreateDelegationTokenRequest, created)

        token = await admin.create_delegation_token(renewers=["User:bob"])

        (request,) = cluster.requests(CreateDelegationTokenRequest)
        assert token == TOKEN
        assert request.message.owner_principal_name == ""
        assert request.message.max_lifetime_ms == -1
        assert request.message.renewers[0].principal_name == "bob"


@virtual_time
async def test_a_token_is_created_for_somebody_else() -> None:
    async with administered() as (cluster, admin):
        cluster.on(CreateDelegationTokenRequest, created)

        token = await admin.create_delegation_token(owner="User:bob", max_lifetime_ms=7)

        (request,) = cluster.requests(CreateDelegationTokenRequest)
        assert (token.owner, token.token_requester) == (BOB, ALICE)
        assert request.message.max_lifetime_ms == 7


@virtual_time
async def test_brokers_without_tokens_say_so() -> None:
    async with administered() as (cluster, admin):
        cluster.on(
            CreateDelegationTokenRequest,
            lambda _: CreateDelegationTokenResponse(
                error_code=ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
            ),
        )

        with pytest.raises(DelegationTokenAuthDisabledError):
            await admin.create_delegation_token()


@pytest.mark.parametrize("given", [TOKEN, TOKEN.hmac, "Y2FuYXJ5", b"canary"])
@virtual_time
async def test_a_token_is_renewed_and_expired_by_its_hmac(given: Any) -> None:
    async with administered() as (cluster, admin):
        cluster.on(
            RenewDelegationTokenRequest,
            lambda _: RenewDelegationTokenResponse(expiry_timestamp_ms=5),
        )
        cluster.on(
            ExpireDelegationTokenRequest,
            lambda _: ExpireDelegationTokenResponse(expiry_timestamp_ms=4),
        )

        renewed = await admin.renew_delegation_token(given)
        expired = await admin.expire_delegation_token(given, expiry_period_ms=9)

        (renew,) = cluster.requests(RenewDelegationTokenRequest)
        (expire,) = cluster.requests(ExpireDelegationTokenRequest)
        assert (renewed, expired) == (5, 4)
        assert (renew.message.hmac, renew.message.renew_period_ms) == (b"canary", -1)
        assert (expire.message.hmac, expire.message.expiry_time_period_ms) == (b"canary", 9)


@virtual_time
async def test_a_token_that_brokers_do_not_know_is_not_found() -> None:
    async with administered() as (cluster, admin):
        cluster.on(
            ExpireDelegationTokenRequest,
            lambda _: ExpireDelegationTokenResponse(
                error_code=ErrorCode.DELEGATION_TOKEN_NOT_FOUND
            ),
        )

        with pytest.raises(DelegationTokenNotFoundError):
            await admin.expire_delegation_token(TOKEN)

        (request,) = cluster.requests(ExpireDelegationTokenRequest)
        assert request.message.expiry_time_period_ms == -1, "at once"


@virtual_time
async def test_tokens_are_described_with_the_oldest_first() -> None:
    def described(request: DescribeDelegationTokenRequest) -> DescribeDelegationTokenResponse:
        tokens = [
            DescribedDelegationToken(
                principal_type="User",
                principal_name="alice",
                token_requester_principal_type="User",
                token_requester_principal_name="alice",
                issue_timestamp=issued,
                expiry_timestamp=2,
                max_timestamp=3,
                token_id="id",
                hmac=b"canary",
                renewers=[
                    DescribedDelegationTokenRenewer(principal_type="User", principal_name="bob")
                ],
            )
            for issued in (4, 1)
        ]
        return DescribeDelegationTokenResponse(tokens=tokens)

    async with administered() as (cluster, admin):
        cluster.on(DescribeDelegationTokenRequest, described)

        first, second = await admin.describe_delegation_token()
        await admin.describe_delegation_token(ALICE)

        every, some = cluster.requests(DescribeDelegationTokenRequest)
        assert first == TOKEN
        assert second.issue_timestamp_ms == 4
        assert every.message.owners is None
        assert [one.principal_name for one in some.message.owners] == ["alice"]


def test_a_token_logs_in_by_scram() -> None:
    credentials = TOKEN.credentials("SCRAM-SHA-256")

    assert credentials == Scram("id", "Y2FuYXJ5", "SCRAM-SHA-256", is_delegation_token=True)


def test_the_hmac_is_not_shown() -> None:
    assert "Y2FuYXJ5" not in repr(TOKEN)
    assert "User', name='alice'" in repr(TOKEN)


@pytest.mark.parametrize(
    ("call", "given", "words"),
    [
        ("create", {"renewers": "alice"}, "a principal is written 'User:alice', not 'alice'"),
        ("create", {"renewers": [7]}, "a principal must be a str such as 'User:alice', not 7"),
        ("create", {"owner": ":alice"}, "a principal is written 'User:alice', not ':alice'"),
        ("create", {"max_lifetime_ms": -2}, "max_lifetime_ms must be 0 or more milliseconds"),
        ("renew", {"token": "canary!"}, "the HMAC of a token is not base64"),
        ("renew", {"token": "Y2Fu!YXJ5"}, "the HMAC of a token is not base64"),
        ("renew", {"token": 7}, "give a DelegationToken, or its HMAC"),
        ("expire", {"token": TOKEN, "expiry_period_ms": "x"}, "expiry_period_ms must be an int"),
    ],
)
@virtual_time
async def test_wrong_arguments_are_refused_at_once(
    call: str, given: dict[str, Any], words: str
) -> None:
    async with administered() as (_, admin):
        with pytest.raises((TypeError, ValueError), match=words) as caught:
            await getattr(admin, f"{call}_delegation_token")(**given)

    assert "canary" not in str(caught.value)
