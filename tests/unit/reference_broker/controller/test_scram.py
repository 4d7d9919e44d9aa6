"""The SCRAM credentials of users, as the controller keeps them."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from pyk.protocol.sasl import ScramMechanism
from pyk.reference_broker.controller.scram_requests import find_credential, upsertion
from support.controllers import Controllers

SHA_256, SHA_512 = ScramMechanism


def given(user: str = "alice", mechanism: ScramMechanism = SHA_256, iterations: int = 4096) -> Any:
    return upsertion(user, mechanism, b"salted", b"salt", iterations)


def taken(user: str = "alice", mechanism: int = 1) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(name=user, mechanism=mechanism)


def alter(controllers: Controllers, upsertions: Any = (), deletions: Any = ()) -> list[ErrorCode]:
    request = AlterUserScramCredentialsRequest(
        upsertions=list(upsertions), deletions=list(deletions)
    )
    response = controllers.ask(request)
    return [ErrorCode(result.error_code) for result in response.results]


def test_a_credential_holds_keys_that_outlive_a_restart() -> None:
    controllers = Controllers()

    assert alter(controllers, [given()]) == [ErrorCode.NONE]
    assert alter(controllers, [given(mechanism=SHA_512)]) == [ErrorCode.NONE]
    controllers.restart()

    found = find_credential(controllers.shard.image, SHA_256, "alice")
    assert found is not None
    assert (found.salt, found.iterations, len(found.stored_key)) == (b"salt", 4096, 32)
    assert find_credential(controllers.shard.image, SHA_512, "alice")
    assert find_credential(controllers.shard.image, SHA_256, "bob") is None


def test_a_credential_is_taken_away() -> None:
    controllers = Controllers()
    alter(controllers, [given()])

    assert alter(controllers, deletions=[taken()]) == [ErrorCode.NONE]
    assert find_credential(controllers.shard.image, SHA_256, "alice") is None
    assert alter(controllers, deletions=[taken()]) == [ErrorCode.RESOURCE_NOT_FOUND]


@pytest.mark.parametrize(
    ("upsertions", "code"),
    [
        ([given("")], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([upsertion("alice", SHA_256, b"", b"salt", 4096)], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([given(iterations=4095)], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([given(iterations=16_385)], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([given(), given()], ErrorCode.DUPLICATE_RESOURCE),
        ([given(), given(mechanism=SHA_512)], ErrorCode.DUPLICATE_RESOURCE),
    ],
)
def test_unacceptable_credentials_change_nothing_of_the_user(
    upsertions: list[Any], code: ErrorCode
) -> None:
    controllers = Controllers()

    assert alter(controllers, [*upsertions, given("bob")]) == [code, ErrorCode.NONE]
    assert list(controllers.shard.image.scram_credentials) == [("bob", 1)]


def test_an_unknown_mechanism_is_refused() -> None:
    assert alter(Controllers(), deletions=[taken(mechanism=3)]) == [
        ErrorCode.UNSUPPORTED_SASL_MECHANISM
    ]
