"""AlterUserScramCredentials: give users a SCRAM password or take it away (KIP-554)."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    binary,
    int8,
    int16,
    int32,
    request,
    response,
    string,
    struct,
)


@struct
class ScramCredentialDeletion(Struct):
    """A credential to take away."""

    name: str = string()
    mechanism: int = int8()
    """1 SCRAM-SHA-256, 2 SCRAM-SHA-512."""


@struct
class ScramCredentialUpsertion(Struct):
    """A credential to give, instead of one that the user may have."""

    name: str = string()
    mechanism: int = int8()
    """1 SCRAM-SHA-256, 2 SCRAM-SHA-512."""
    iterations: int = int32()
    salt: bytes = binary(secret=True)
    salted_password: bytes = binary(secret=True)
    """Salted and hashed by the sender: the password itself never reaches a broker."""


@request(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, versions="0", flexible="0+")
class AlterUserScramCredentialsRequest(Message):
    """Ask the controller, directly or through a broker, to change credentials."""

    deletions: list[ScramCredentialDeletion] = array(ScramCredentialDeletion)
    upsertions: list[ScramCredentialUpsertion] = array(ScramCredentialUpsertion)


@struct
class AlterUserScramCredentialsResult(Struct):
    """Whether the credentials of one user were changed."""

    user: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")


@response(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, versions="0", flexible="0+")
class AlterUserScramCredentialsResponse(Message):
    """Say whose credentials were changed."""

    throttle_time_ms: int = int32()
    results: list[AlterUserScramCredentialsResult] = array(AlterUserScramCredentialsResult)
