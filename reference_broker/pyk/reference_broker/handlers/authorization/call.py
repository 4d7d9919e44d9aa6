"""A request on its way to its handler, and the ways to refuse a part of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.registry import response_class
from pyk.protocol.schema import Message
from pyk.reference_broker.deferred import Deferred, HandlerResult
from pyk.reference_broker.errors import ConnectionClosedError
from pyk.reference_broker.handlers.context import RequestContext
from pyk.reference_broker.handlers.error_responses import error_response
from pyk.reference_broker.handlers.partitioned import SHAPES, error_partitions, shallow_copy
from pyk.runtime import slotted

from .access import Access

MESSAGES = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
}
"""What Kafka says beside these errors."""

UNEXPLAINED = frozenset(
    (
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        ApiKey.SHARE_GROUP_HEARTBEAT,
        ApiKey.STREAMS_GROUP_HEARTBEAT,
    )
)
"""The APIs with a field for a message, beside whose errors Kafka says nothing."""


@slotted.frozen(kw_only=True)
class Call:
    """A request, who sends it, and the handler that waits for it."""

    api_key: ApiKey
    services: Any
    request: Any
    context: RequestContext
    access: Access
    handle: Callable[..., HandlerResult]

    @property
    def version(self) -> int:
        return self.context.version

    @property
    def expects_response(self) -> bool:
        """Whether the client waits for an answer: not for that to a Produce with acks=0."""
        return self.api_key is not ApiKey.PRODUCE or self.request.acks != 0

    def proceed(self) -> HandlerResult:
        """Hand the request to its handler."""
        return self.handle(self.services, self.request, self.context)

    def refuse(self, code: ErrorCode) -> Message:
        """Return the response that refuses the whole request."""
        if not self.expects_response:
            raise ConnectionClosedError  # there is no other way to say so
        response: Any = error_response(self.api_key, self.request, code, self.version)
        has_message = hasattr(response, "error_message") and self.api_key not in UNEXPLAINED
        is_refused_as_a_whole = bool(getattr(response, "error_code", 0))
        if has_message and is_refused_as_a_whole:
            response.error_message = MESSAGES.get(code)
        return response  # type: ignore[no-any-return]

    def with_items(self, field: str, items: list[Any]) -> Call:
        """Return a call whose request has these items in a field, and else is the same."""
        request = shallow_copy(self.request)
        setattr(request, field, items)
        return slotted.evolve(self, request=request)


Refusal = Callable[[Call, Any], ErrorCode]
"""Returns why an item of a request is refused, NONE if it is not."""


def proceed_with(
    call: Call,
    asked: str,
    answered: str,
    allowed: list[Any],
    refused: list[Any],
    *,
    also_without_items: bool = False,
) -> HandlerResult:
    """Hand the ``allowed`` items to the handler, and add the ``refused`` results to its response.

    Without any the handler is not called, unless it has something to say of the rest of the
    request. A response that refuses the whole stays as it is.
    """
    if not refused:
        return call.proceed()

    def complete(response: Any) -> Message:
        if not getattr(response, "error_code", 0):
            getattr(response, answered).extend(refused)
        return response  # type: ignore[no-any-return]

    if not allowed and not also_without_items:
        result: HandlerResult = response_class(call.api_key)()
    else:
        result = call.with_items(asked, allowed).proceed()
    if not call.expects_response:
        # Now, not with the result: whoever completes that has nothing to do with this connection.
        raise ConnectionClosedError
    return then(result, complete)


def then(result: HandlerResult, complete: Callable[[Any], Message]) -> HandlerResult:
    """Return what ``complete`` makes of a response, now or when it comes."""
    return result.then(complete) if isinstance(result, Deferred) else complete(result)


def by_item(
    asked: str,
    answered: str,
    refusal: Refusal,
    *,
    unique: Callable[[Any], object] | None = None,
    also_without_items: bool = False,
) -> Callable[[Call], HandlerResult]:
    """Return what refuses items of a request, each with a result of its own in the response.

    Items whose ``unique`` is the same are left to the handler, which refuses them for that.
    """

    def handle(call: Call) -> HandlerResult:
        allowed, refused = [], []
        items = getattr(call.request, asked)
        times = Counter(map(unique, items)) if unique is not None else None
        for item in items:
            is_repeated = times is not None and unique is not None and times[unique(item)] > 1
            code = ErrorCode.NONE if is_repeated else refusal(call, item)
            if code:
                refused.append(refused_result(call, asked, answered, item, code))
            else:
                allowed.append(item)
        return proceed_with(
            call, asked, answered, allowed, refused, also_without_items=also_without_items
        )

    return handle


def refused_result(call: Call, asked: str, answered: str, item: Any, code: ErrorCode) -> Any:
    """Return the result of one item that is refused."""
    single = call.with_items(asked, [item]).request
    response = (
        error_partitions(call.api_key, single, code)
        if call.api_key in SHAPES
        else error_response(call.api_key, single, code, call.version)
    )
    (result,) = getattr(response, answered)
    if hasattr(result, "error_message"):
        result.error_message = MESSAGES.get(code)
    return result
