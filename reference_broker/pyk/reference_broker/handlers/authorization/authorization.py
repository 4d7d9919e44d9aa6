"""Check requests before their handlers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyk.protocol.connection import Request
from pyk.reference_broker.deferred import HandlerResult
from pyk.reference_broker.handlers.context import RequestContext
from pyk.reference_broker.handlers.table import handler
from pyk.reference_broker.security.authorizer import Authorizer

from .access import Access
from .call import Call
from .requirements import REQUIREMENTS

if TYPE_CHECKING:
    from pyk.reference_broker.network.connection import Connection
    from pyk.reference_broker.services import BrokerServices


class Authorization:
    """Hands requests to handlers as far as their clients may make them."""

    def __init__(self, services: BrokerServices, authorizer: Authorizer) -> None:
        self._services = services
        self._authorizer = authorizer

    def access_of(self, connection: Connection) -> Access:
        """Return what the client of a connection may do; it is kept with the connection."""
        access = connection.access
        if access is None or access.principal is not connection.principal:
            access = Access(self._authorizer, connection.principal, connection.host)
            connection.access = access
        return access

    def handle(self, request: Request, context: RequestContext) -> HandlerResult:
        """Hand a request to its handler, or as much of it as is allowed; refuse the rest."""
        assert context.access is not None
        return check(
            Call(
                api_key=request.api_key,
                services=self._services,
                request=request.body,
                context=context,
                access=context.access,
                handle=handler(request.api_key),
            )
        )


def check(call: Call) -> HandlerResult:
    """Carry out what the client may do of a call.

    Raises ``KeyError`` for an API whose requirement is unknown.
    """
    requirement = REQUIREMENTS[call.api_key]
    for condition in requirement.conditions:
        code = condition(call)
        if code:
            return call.refuse(code)
    return requirement.handle(call)
