"""Create-, Renew-, Expire- and DescribeDelegationToken: who may ask (KIP-48, KIP-373).

The controller decides on the rest. No token is given over a connection that everybody can read or
that is nobody's, nor to a client that has logged in by a token: it would outlive that one.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from pyk.protocol.acls import AclOperation, ResourceType
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.access_records import DelegationTokenRecord
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
from pyk.reference_broker.broker_configs import BrokerConfigs
from pyk.reference_broker.controller.delegation_tokens import TokenSettings, principal_of
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.controller.token_requests import owner_of
from pyk.reference_broker.controller_channel import ControllerChannel
from pyk.reference_broker.deferred import HandlerResult
from pyk.reference_broker.security.authorizer import Authorizer, Client
from pyk.reference_broker.security.principal import ANONYMOUS, USER

from .context import RequestContext

NO_TIME = -1
FIRST_VERSION_WITH_REQUESTER = 3

R = TypeVar("R", CreateDelegationTokenResponse, DescribedDelegationToken)


class TokenServices(Protocol):
    """The services that requests about tokens use."""

    @property
    def authorizer(self) -> Authorizer | None: ...
    @property
    def configs(self) -> BrokerConfigs: ...
    @property
    def controller(self) -> ControllerChannel: ...
    @property
    def image(self) -> MetadataImage: ...


def create_delegation_token(
    services: TokenServices, request: CreateDelegationTokenRequest, context: RequestContext
) -> HandlerResult:
    """Create a token of the requester, or of an owner for whom it may create tokens."""
    code = _why_not(services, request, context)
    if not code:
        created = services.controller.send(request, requester=context.principal)
        return created.then(lambda response: _told_to(context, response))
    owner = owner_of(request, context.principal)
    response = CreateDelegationTokenResponse(
        error_code=code,
        principal_type=owner.kind,
        principal_name=owner.name,
        token_requester_principal_type=context.principal.kind,
        token_requester_principal_name=context.principal.name,
        issue_timestamp_ms=NO_TIME,
        expiry_timestamp_ms=NO_TIME,
        max_timestamp_ms=NO_TIME,
    )
    return _told_to(context, response)


def renew_delegation_token(
    services: TokenServices, request: RenewDelegationTokenRequest, context: RequestContext
) -> HandlerResult:
    """Let a token expire later."""
    if not _may_ask(context):
        return RenewDelegationTokenResponse(
            error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, expiry_timestamp_ms=NO_TIME
        )
    return services.controller.send(request, requester=context.principal)


def expire_delegation_token(
    services: TokenServices, request: ExpireDelegationTokenRequest, context: RequestContext
) -> HandlerResult:
    """Let a token expire, now or later."""
    if not _may_ask(context):
        return ExpireDelegationTokenResponse(
            error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, expiry_timestamp_ms=NO_TIME
        )
    return services.controller.send(request, requester=context.principal)


def describe_delegation_token(
    services: TokenServices, request: DescribeDelegationTokenRequest, context: RequestContext
) -> DescribeDelegationTokenResponse:
    """Return the tokens of the owners asked for that the client may see."""
    if not _may_ask(context):
        return DescribeDelegationTokenResponse(
            error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        )
    settings = TokenSettings.of(services.configs.broker)
    if not settings.is_enabled:
        return DescribeDelegationTokenResponse(error_code=ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    owners = None
    if request.owners is not None:
        owners = {f"{one.principal_type}:{one.principal_name}" for one in request.owners}
    return DescribeDelegationTokenResponse(
        tokens=[
            _told_to(context, _described(token, settings))
            for token in services.image.delegation_tokens.values()
            if (owners is None or not owners.isdisjoint(_parties(token)))
            and _may_see(services, token, context)
        ]
    )


def _why_not(
    services: TokenServices, request: CreateDelegationTokenRequest, context: RequestContext
) -> ErrorCode:
    """Return why a token is not created, NONE if it may be."""
    if not _may_ask(context):
        return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    owner = owner_of(request, context.principal)
    if owner != context.principal and not _is_allowed(
        services, context, AclOperation.CREATE_TOKENS, ResourceType.USER, str(owner)
    ):
        return ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    if any(renewer.principal_type != USER for renewer in request.renewers):
        return ErrorCode.INVALID_PRINCIPAL_TYPE
    return ErrorCode.NONE


def _may_ask(context: RequestContext) -> bool:
    if context.sasl is not None:
        return not context.sasl.is_token_authenticated
    return context.principal != ANONYMOUS


def _may_see(
    services: TokenServices, token: DelegationTokenRecord, context: RequestContext
) -> bool:
    """Return whether a client may see a token; a refusal is not logged, for it asks for many."""
    if str(context.principal) in _parties(token):
        return True
    allowed = (
        (AclOperation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token.token_id),
        (AclOperation.DESCRIBE_TOKENS, ResourceType.USER, token.owner),
    )
    return any(_is_allowed(services, context, *each, is_asked_for=False) for each in allowed)


def _parties(token: DelegationTokenRecord) -> tuple[str, ...]:
    """Return for whom a token counts as their own."""
    return token.owner, token.requester, *token.renewers


def _is_allowed(
    services: TokenServices,
    context: RequestContext,
    operation: AclOperation,
    resource_type: ResourceType,
    name: str,
    *,
    is_asked_for: bool = True,
) -> bool:
    if services.authorizer is None:
        return True
    client = Client.of(context.principal, context.client_host.removeprefix("/"))
    return services.authorizer.allows(
        client, operation, resource_type, name, is_asked_for=is_asked_for
    )


def _told_to(context: RequestContext, answer: R) -> R:
    """Return a response, or a part of it, as its version has it: old ones have no requester."""
    if context.version < FIRST_VERSION_WITH_REQUESTER:
        answer.token_requester_principal_type = answer.token_requester_principal_name = ""
    return answer


def _described(token: DelegationTokenRecord, settings: TokenSettings) -> DescribedDelegationToken:
    owner, requester = principal_of(token.owner), principal_of(token.requester)
    renewers = map(principal_of, token.renewers)
    return DescribedDelegationToken(
        principal_type=owner.kind,
        principal_name=owner.name,
        token_requester_principal_type=requester.kind,
        token_requester_principal_name=requester.name,
        issue_timestamp=token.issue_timestamp,
        expiry_timestamp=token.expiration_timestamp,
        max_timestamp=token.max_timestamp,
        token_id=token.token_id,
        hmac=settings.hmac_of(token.token_id),
        renewers=[
            DescribedDelegationTokenRenewer(principal_type=one.kind, principal_name=one.name)
            for one in renewers
        ],
    )
