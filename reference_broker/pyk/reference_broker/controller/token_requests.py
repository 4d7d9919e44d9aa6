"""Requests that create delegation tokens and change when they expire (KIP-48, KIP-373). Pure.

Times are milliseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.access_records import (
    DelegationTokenRecord,
    RemoveDelegationTokenRecord,
)
from pyk.protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from pyk.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from pyk.protocol.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from pyk.protocol.schema import Message
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.security.principal import Principal
from pyk.reference_broker.storage.partition_metadata import encode_id

from .delegation_tokens import TokenSettings, is_expired
from .metadata_versions import DELEGATION_TOKENS

if TYPE_CHECKING:
    from .image import MetadataImage


def create_token(
    settings: TokenSettings,
    image: MetadataImage,
    request: CreateDelegationTokenRequest,
    requester: Principal,
    now_ms: int,
    *,
    new_uuid: Callable[[], UUID],
) -> tuple[CreateDelegationTokenResponse, list[Message]]:
    """Return the response with a new token, and its record."""
    owner = owner_of(request, requester)
    response = CreateDelegationTokenResponse(
        principal_type=owner.kind,
        principal_name=owner.name,
        token_requester_principal_type=requester.kind,
        token_requester_principal_name=requester.name,
    )
    if not settings.is_enabled:
        response.error_code = ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
        return response, []
    if image.metadata_version < DELEGATION_TOKENS:
        response.error_code = ErrorCode.UNSUPPORTED_VERSION
        return response, []
    lifetime_ms = _at_most(settings.max_lifetime_ms, request.max_lifetime_ms)
    record = DelegationTokenRecord(
        owner=str(owner),
        requester=str(requester),
        renewers=[f"{one.principal_type}:{one.principal_name}" for one in request.renewers],
        issue_timestamp=now_ms,
        max_timestamp=now_ms + lifetime_ms,
        expiration_timestamp=now_ms + min(lifetime_ms, settings.expiry_time_ms),
        token_id=_new_id(new_uuid),
    )
    response.issue_timestamp_ms = now_ms
    response.expiry_timestamp_ms = record.expiration_timestamp
    response.max_timestamp_ms = record.max_timestamp
    response.token_id = record.token_id
    response.hmac = settings.hmac_of(record.token_id)
    return response, [record]


def renew_token(
    settings: TokenSettings,
    image: MetadataImage,
    request: RenewDelegationTokenRequest,
    requester: Principal,
    now_ms: int,
) -> tuple[RenewDelegationTokenResponse, list[Message]]:
    """Let a token expire later, or earlier, but not after its maximum."""
    try:
        token = _known(settings, image, request.hmac)
        _check_time(token, now_ms)
        _check_party(token, requester)
    except ApiError as error:
        return RenewDelegationTokenResponse(error_code=error.code), []
    period_ms = _at_most(settings.expiry_time_ms, request.renew_period_ms)
    expiry_ms = min(token.max_timestamp, now_ms + period_ms)
    return RenewDelegationTokenResponse(expiry_timestamp_ms=expiry_ms), [_until(token, expiry_ms)]


def expire_token(
    settings: TokenSettings,
    image: MetadataImage,
    request: ExpireDelegationTokenRequest,
    requester: Principal,
    now_ms: int,
) -> tuple[ExpireDelegationTokenResponse, list[Message]]:
    """Let a token expire after a time, or remove it at once if that is negative.

    As in Kafka, the owner is asked for first here, and one that has expired can be removed.
    """
    is_removed = request.expiry_time_period_ms < 0
    try:
        token = _known(settings, image, request.hmac)
        _check_party(token, requester)
        if not is_removed:
            _check_time(token, now_ms)
    except ApiError as error:
        return ExpireDelegationTokenResponse(error_code=error.code), []
    if is_removed:
        removal = RemoveDelegationTokenRecord(token_id=token.token_id)
        return ExpireDelegationTokenResponse(expiry_timestamp_ms=now_ms), [removal]
    expiry_ms = min(token.max_timestamp, now_ms + request.expiry_time_period_ms)
    return ExpireDelegationTokenResponse(expiry_timestamp_ms=expiry_ms), [_until(token, expiry_ms)]


def sweep_tokens(image: MetadataImage, now_ms: int) -> list[Message]:
    """Return the records that remove the tokens that have expired."""
    return [
        RemoveDelegationTokenRecord(token_id=token.token_id)
        for token in image.delegation_tokens.values()
        if is_expired(token, now_ms)
    ]


def owner_of(request: CreateDelegationTokenRequest, requester: Principal) -> Principal:
    """Return the owner of a token to be: the requester, unless the request names another one."""
    if not request.owner_principal_name:
        return requester
    return Principal(request.owner_principal_name, request.owner_principal_type or "")


def _known(
    settings: TokenSettings, image: MetadataImage, token_hmac: bytes
) -> DelegationTokenRecord:
    """Return the token with an HMAC; raise ``ApiError``."""
    if not settings.is_enabled:
        raise ApiError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    if image.metadata_version < DELEGATION_TOKENS:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
    token = settings.find(image.delegation_tokens.values(), token_hmac)
    if token is None:
        raise ApiError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
    return token


def _check_time(token: DelegationTokenRecord, now_ms: int) -> None:
    if is_expired(token, now_ms):
        raise ApiError(ErrorCode.DELEGATION_TOKEN_EXPIRED)


def _check_party(token: DelegationTokenRecord, requester: Principal) -> None:
    """Raise ``ApiError`` unless a requester may change a token."""
    if str(requester) not in (token.owner, *token.renewers):
        raise ApiError(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)


def _at_most(limit_ms: int, asked_ms: int) -> int:
    return min(limit_ms, asked_ms) if asked_ms > 0 else limit_ms


def _until(token: DelegationTokenRecord, expiry_ms: int) -> DelegationTokenRecord:
    values: dict[str, Any] = {
        name: getattr(token, name)
        for name in ("owner", "requester", "renewers", "issue_timestamp", "max_timestamp")
    }
    return DelegationTokenRecord(**values, token_id=token.token_id, expiration_timestamp=expiry_ms)


def _new_id(new_uuid: Callable[[], UUID]) -> str:
    """Return a new id, which does not look like an option of a command, as in Kafka."""
    while True:
        text = encode_id(new_uuid())
        if not text.startswith("-"):
            return text
