"""Users that log in by SCRAM: their passwords never travel, and lost responses are repeated."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients import (
    ResourceNotFoundError,
    ScramCredentialInfo,
    ScramMechanism,
    UnacceptableCredentialError,
    UserScramCredentialDeletion,
    UserScramCredentialsDescription,
    UserScramCredentialUpsertion,
)
from pyk.clients.errors import SeveralErrors
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from pyk.protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from pyk.protocol.sasl import salted_password
from pyk.runtime.virtual_time import virtual_time
from support.administering import administered

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512
INFO = ScramCredentialInfo(SHA_256, 4096)


def altered(request: AlterUserScramCredentialsRequest) -> AlterUserScramCredentialsResponse:
    users = [one.name for one in (*request.deletions, *request.upsertions)]
    return AlterUserScramCredentialsResponse(
        results=[AlterUserScramCredentialsResult(user=user, error_message=None) for user in users]
    )


def refused(request: Any) -> AlterUserScramCredentialsResponse:
    response = altered(request)
    response.results[0].error_code = ErrorCode.UNACCEPTABLE_CREDENTIAL
    response.results[0].error_message = "Too few iterations"
    return response


@virtual_time
async def test_a_password_is_sent_as_its_salted_hash() -> None:
    async with administered() as (cluster, admin):
        cluster.on(AlterUserScramCredentialsRequest, altered)

        await admin.alter_user_scram_credentials(
            [UserScramCredentialUpsertion("alice", INFO, "canary", b"salt")]
        )

        (request,) = cluster.requests(AlterUserScramCredentialsRequest)
        (sent,) = request.message.upsertions
        assert (sent.name, sent.mechanism, sent.iterations, sent.salt) == (
            "alice",
            1,
            4096,
            b"salt",
        )
        assert sent.salted_password == salted_password(SHA_256, "canary", b"salt", 4096)


@virtual_time
async def test_two_credentials_of_a_user_are_altered_by_two_requests() -> None:
    async with administered() as (cluster, admin):
        cluster.on(AlterUserScramCredentialsRequest, altered)

        await admin.alter_user_scram_credentials(
            [
                UserScramCredentialUpsertion("alice", INFO, "canary"),
                UserScramCredentialDeletion("alice", "SCRAM-SHA-512"),
                UserScramCredentialDeletion("bob", SHA_512),
            ]
        )

        requests = cluster.requests(AlterUserScramCredentialsRequest)
        assert [
            [one.name for one in (*each.message.deletions, *each.message.upsertions)]
            for each in requests
        ] == [["bob", "alice"], ["alice"]]


@virtual_time
async def test_salts_are_random() -> None:
    async with administered() as (cluster, admin):
        cluster.on(AlterUserScramCredentialsRequest, altered)

        for _ in range(2):
            await admin.alter_user_scram_credentials(
                [UserScramCredentialUpsertion("alice", INFO, "canary")]
            )

        first, second = cluster.requests(AlterUserScramCredentialsRequest)
        assert first.message.upsertions[0].salt != second.message.upsertions[0].salt


@virtual_time
async def test_a_refused_credential_is_an_error_with_the_words_of_the_broker() -> None:
    async with administered() as (cluster, admin):
        cluster.on(AlterUserScramCredentialsRequest, refused)

        with pytest.raises(UnacceptableCredentialError, match="Too few iterations"):
            await admin.alter_user_scram_credentials(
                [UserScramCredentialUpsertion("alice", ScramCredentialInfo(SHA_256, 1), "canary")]
            )


@virtual_time
async def test_errors_of_several_alterations_are_found_by_user_and_mechanism() -> None:
    async with administered() as (cluster, admin):
        cluster.on(AlterUserScramCredentialsRequest, refused)

        with pytest.raises(SeveralErrors) as caught:
            await admin.alter_user_scram_credentials(
                [
                    UserScramCredentialUpsertion("alice", INFO, "canary"),
                    UserScramCredentialUpsertion("bob", INFO, "canary"),
                ]
            )

    assert isinstance(caught.value.errors["alice", SHA_256], UnacceptableCredentialError)
    assert list(caught.value.results) == [("bob", SHA_256)]


def described(request: DescribeUserScramCredentialsRequest) -> DescribeUserScramCredentialsResponse:
    results = [
        DescribeUserScramCredentialsResult(
            user="alice",
            error_message=None,
            credential_infos=[CredentialInfo(mechanism=2, iterations=8192)],
        ),
        DescribeUserScramCredentialsResult(
            user="bob", error_code=ErrorCode.RESOURCE_NOT_FOUND, error_message="not there"
        ),
    ]
    asked = [one.name for one in request.users or ()] or ["alice"]
    return DescribeUserScramCredentialsResponse(
        error_message=None,
        results=[one for one in results if one.user in asked],
    )


@virtual_time
@pytest.mark.parametrize("users", [None, ["alice"], "alice"])
async def test_credentials_are_described_by_user(users: Any) -> None:
    async with administered() as (cluster, admin):
        cluster.on(DescribeUserScramCredentialsRequest, described)

        found = await admin.describe_user_scram_credentials(users)

        (request,) = cluster.requests(DescribeUserScramCredentialsRequest)

    assert request.message.users is not None  # Apache Kafka 4.3 would not answer without an ACL
    info = ScramCredentialInfo(SHA_512, 8192)
    assert found == {"alice": UserScramCredentialsDescription("alice", (info,))}


@virtual_time
async def test_a_user_without_credentials_is_not_found() -> None:
    async with administered() as (cluster, admin):
        cluster.on(DescribeUserScramCredentialsRequest, described)

        with pytest.raises(ResourceNotFoundError, match="not there"):
            await admin.describe_user_scram_credentials(["bob"])


@virtual_time
async def test_no_users_are_not_all_users() -> None:
    async with administered() as (cluster, admin):
        assert await admin.describe_user_scram_credentials([]) == {}
        assert cluster.requests(DescribeUserScramCredentialsRequest) == []


@pytest.mark.parametrize(
    ("alterations", "words"),
    [
        ("alice", "a sequence of UserScramCredentialUpsertion"),
        (["alice"], "must be UserScramCredentialUpsertion"),
        ([UserScramCredentialDeletion("alice", SHA_256)] * 2, "'alice' is altered twice"),
    ],
)
@virtual_time
async def test_wrong_alterations_are_refused_at_once(alterations: Any, words: str) -> None:
    async with administered() as (_, admin):
        with pytest.raises((TypeError, ValueError), match=words):
            await admin.alter_user_scram_credentials(alterations)


def test_passwords_are_not_shown() -> None:
    assert "canary" not in repr(UserScramCredentialUpsertion("alice", INFO, "canary", b"canary"))


@pytest.mark.parametrize("mechanism", ["PLAIN", 1, ""])
def test_other_mechanisms_are_refused(mechanism: Any) -> None:
    with pytest.raises(ValueError, match="mechanism must be 'SCRAM-SHA-256' or 'SCRAM-SHA-512'"):
        ScramCredentialInfo(mechanism)


def test_an_empty_password_is_refused() -> None:
    with pytest.raises(ValueError, match="password is empty"):
        UserScramCredentialUpsertion("alice", INFO, "")
