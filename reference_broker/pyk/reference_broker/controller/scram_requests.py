"""Requests about the SCRAM credentials of users (KIP-554). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.access_records import (
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from pyk.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from pyk.protocol.sasl import MIN_ITERATIONS, ScramCredential, ScramMechanism
from pyk.protocol.schema import Message
from pyk.reference_broker.errors import ApiError

from .metadata_versions import SCRAM

if TYPE_CHECKING:
    from .image import MetadataImage

MECHANISMS = {1: ScramMechanism.SCRAM_SHA_256, 2: ScramMechanism.SCRAM_SHA_512}
NUMBERS = {mechanism: number for number, mechanism in MECHANISMS.items()}
MAX_ITERATIONS = 16_384

Change = ScramCredentialDeletion | ScramCredentialUpsertion


def alter_user_scram_credentials(
    image: MetadataImage, request: AlterUserScramCredentialsRequest
) -> tuple[AlterUserScramCredentialsResponse, list[Message]]:
    """Return the response with one result for each user, and the records for those without error.

    As in Kafka, a request may change one credential of each user, not those for two mechanisms.
    """
    changes: dict[str, list[Change]] = {}
    asked: list[Change] = [*request.deletions, *request.upsertions]
    for change in asked:
        changes.setdefault(change.name, []).append(change)
    results, records = [], []
    for name, of_user in changes.items():
        result = AlterUserScramCredentialsResult(user=name, error_message=None)
        results.append(result)
        try:
            records.append(_only_record(image, of_user))
        except ApiError as error:
            result.error_code, result.error_message = error.code, error.message
    return AlterUserScramCredentialsResponse(results=results), records


def upsertion(
    user: str, mechanism: ScramMechanism, salted: bytes, salt: bytes, iterations: int
) -> ScramCredentialUpsertion:
    """Return the change that gives a user a credential."""
    return ScramCredentialUpsertion(
        name=user,
        mechanism=NUMBERS[mechanism],
        iterations=iterations,
        salt=salt,
        salted_password=salted,
    )


def find_credential(
    image: MetadataImage, mechanism: ScramMechanism, user: str
) -> ScramCredential | None:
    """Return the credential of a user for a mechanism, None if there is none."""
    record = image.scram_credentials.get((user, NUMBERS[mechanism]))
    if record is None:
        return None
    return ScramCredential(
        mechanism=mechanism,
        salt=record.salt,
        iterations=record.iterations,
        stored_key=record.stored_key,
        server_key=record.server_key,
    )


def _only_record(image: MetadataImage, changes: Sequence[Change]) -> Message:
    if image.metadata_version < SCRAM:
        raise ApiError(
            ErrorCode.UNSUPPORTED_VERSION, "The current metadata.version does not support SCRAM"
        )
    _check(image, changes[0])
    if len(changes) > 1:
        raise ApiError(
            ErrorCode.DUPLICATE_RESOURCE,
            "A user credential cannot be altered twice in the same request",
        )
    return _record(changes[0])


def _check(image: MetadataImage, change: Change) -> None:
    if not change.name:
        raise ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if change.mechanism not in MECHANISMS:
        raise ApiError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if isinstance(change, ScramCredentialDeletion):
        if (change.name, change.mechanism) not in image.scram_credentials:
            raise ApiError(
                ErrorCode.RESOURCE_NOT_FOUND,
                "Attempt to delete a user credential that does not exist",
            )
    elif change.iterations < MIN_ITERATIONS:
        raise ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    elif change.iterations > MAX_ITERATIONS:
        raise ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    elif not change.salted_password:
        raise ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "The salted password must not be empty")


def _record(change: Change) -> Message:
    if isinstance(change, ScramCredentialDeletion):
        return RemoveUserScramCredentialRecord(name=change.name, mechanism=change.mechanism)
    credential = ScramCredential.from_salted_password(
        MECHANISMS[change.mechanism], change.salted_password, change.salt, change.iterations
    )
    return UserScramCredentialRecord(
        name=change.name,
        mechanism=change.mechanism,
        salt=credential.salt,
        stored_key=credential.stored_key,
        server_key=credential.server_key,
        iterations=credential.iterations,
    )
