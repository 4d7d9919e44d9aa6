"""DescribeUserScramCredentials: who can log in by SCRAM (KIP-554)."""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from pyk.reference_broker.controller.image import MetadataImage

from .context import RequestContext


class ScramServices(Protocol):
    """The services that requests about credentials use."""

    @property
    def image(self) -> MetadataImage: ...


def describe_user_scram_credentials(
    services: ScramServices, request: DescribeUserScramCredentialsRequest, context: RequestContext
) -> DescribeUserScramCredentialsResponse:
    """Return mechanisms and iterations by user; nothing that a password could be guessed from."""
    infos: dict[str, list[CredentialInfo]] = {}
    for (user, mechanism), record in services.image.scram_credentials.items():
        info = CredentialInfo(mechanism=mechanism, iterations=record.iterations)
        infos.setdefault(user, []).append(info)
    asked = Counter(user.name for user in request.users or ())
    return DescribeUserScramCredentialsResponse(
        results=[_result(user, asked[user], infos.get(user, [])) for user in asked or infos],
    )


def _result(
    user: str, times: int, infos: list[CredentialInfo]
) -> DescribeUserScramCredentialsResult:
    if times > 1:
        return DescribeUserScramCredentialsResult(
            user=user,
            error_code=ErrorCode.DUPLICATE_RESOURCE,
            error_message="Cannot describe SCRAM credentials for the same user twice in a single "
            f"request: {user}",
        )
    if not infos:
        return DescribeUserScramCredentialsResult(
            user=user,
            error_code=ErrorCode.RESOURCE_NOT_FOUND,
            error_message=f"Attempt to describe a user credential that does not exist: {user}",
        )
    return DescribeUserScramCredentialsResult(user=user, credential_infos=infos)
