"""From a request to its handler and back; what goes wrong there becomes an error response."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.connection import InvalidRequestError, Request, RequestError
from pyk.protocol.errors import ErrorCode
from pyk.protocol.schema import Message
from pyk.reference_broker.deferred import HandlerResult
from pyk.reference_broker.errors import ApiError, ConnectionClosedError

from .context import RequestContext
from .table import handler

if TYPE_CHECKING:
    from pyk.reference_broker.network.connection import Connection
    from pyk.reference_broker.quotas.request_usage import RequestUsage
    from pyk.reference_broker.services import BrokerServices

    from .authorization.access import Access
    from .authorization.authorization import Authorization

log = logging.getLogger(__name__)


class Dispatcher:
    """Hands requests to handlers; implements :class:`~..network.connection.RequestHandler`."""

    def __init__(self, services: BrokerServices) -> None:
        self._services = services
        self._quotas = services.image.client_quotas
        self._authorization = _authorization_of(services)

    def handle(self, request: Request, connection: Connection) -> HandlerResult:
        authorization = self._authorization
        access = None if authorization is None else authorization.access_of(connection)
        context = RequestContext(
            version=request.version,
            client_id=request.header.client_id or "",
            client_host=connection.client_host,
            local_host=connection.local_host,
            listener=connection.listener,
            principal=connection.principal,
            sasl=connection.sasl,
            access=access,
            usage=self._begin_usage(request, connection, access) if self._quotas.limits else None,
            connection=connection,
        )
        try:
            if authorization is not None:
                return authorization.handle(request, context)
            result: HandlerResult = handler(request.api_key)(self._services, request.body, context)
        except ConnectionClosedError:
            raise
        except ApiError as error:
            return self._error(request, error.code)
        except Exception:
            log.exception(
                "Could not handle %s from %r", request.api_key.api_name, context.client_id
            )
            return self._error(request, ErrorCode.UNKNOWN_SERVER_ERROR)
        finally:
            if context.usage is not None:
                context.usage.handled()
        return result

    def failed(self, request: Request, error: Exception) -> Message | None:
        log.warning(
            "Answered %s from %r with UNKNOWN_SERVER_ERROR: %r",
            request.api_key.api_name, request.header.client_id, error,
        )  # fmt: skip
        return self._error(request, ErrorCode.UNKNOWN_SERVER_ERROR)

    def _begin_usage(
        self, request: Request, connection: Connection, access: Access | None
    ) -> RequestUsage | None:
        from pyk.reference_broker.quotas.client_quotas import QuotaClient
        from pyk.reference_broker.quotas.request_usage import RequestUsage, is_exempt

        is_logged_in = connection.sasl is None or connection.sasl.principal is not None
        if not is_logged_in:
            return None  # whoever it is could use up the quota of others
        if is_exempt(request.api_key, request.version) and _is_broker(access):
            return None
        client = QuotaClient(connection.principal.name, request.header.client_id or "")
        services = self._services
        usage = RequestUsage(services.quotas, client, connection.request_bytes, services.now)
        connection.usage = usage
        return usage

    def requests_begin(self) -> None:
        self._services.waiting.moved.hold()

    def requests_end(self) -> None:
        self._services.waiting.moved.release()

    def refuse(self, error: RequestError) -> Message | None:
        assert error.request is not None
        if isinstance(error, InvalidRequestError):
            return None  # Kafka closes the connection too: the two sides do not agree on the bytes
        if error.request.api_key is ApiKey.API_VERSIONS:
            from .api_versions import unsupported_version

            return unsupported_version()
        return self._error(error.request, ErrorCode.UNSUPPORTED_VERSION)

    def outgoing(self, request: Request, connection: Connection, parts: list[Any]) -> list[Any]:
        return parts

    def _error(self, request: Request, code: ErrorCode) -> Message | None:
        from .error_responses import error_response

        if not request.expects_response:
            return None
        return error_response(request.api_key, request.body, code, request.response_version)


def _is_broker(access: Access | None) -> bool:
    """Return whether a client may be another broker: anybody may without an authorizer."""
    from pyk.protocol.acls import AclOperation

    cluster_action = AclOperation.CLUSTER_ACTION
    return access is None or access.may_on_cluster(cluster_action, is_asked_for=False)


def _authorization_of(services: BrokerServices) -> Authorization | None:
    """Return what checks requests, None if the broker has no authorizer."""
    if services.authorizer is None:
        return None
    from .authorization.authorization import Authorization

    return Authorization(services, services.authorizer)
