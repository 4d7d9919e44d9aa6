"""The clients that push metrics, and when each may push again. Pure.

A client first asks what to push (GetTelemetrySubscriptions), then pushes once per interval. As in
Kafka, what is known of a client is forgotten when its connection is closed, when it is silent for
three intervals, and when its subscriptions change.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted

from .subscription import Request

MAX_INSTANCES = 16_384
MIN_IDLE_MS = 60_000
NEVER = float("-inf")


@slotted.define(kw_only=True)
class ClientInstance:
    """What is known of one client since its subscriptions changed last. Times are in ms."""

    request: Request
    subscription_id: int
    generation: int
    """The generation of subscriptions that the request is of."""
    last_get: float = NEVER
    last_push: float = NEVER
    last_seen: float = NEVER
    is_terminating: bool = False
    last_error: ErrorCode = ErrorCode.NONE

    def check_get(self, now: float) -> None:
        """Raise :class:`ApiError` if the client asks too early."""
        if now - max(self.last_get, self.last_push) >= self.request.interval_ms:
            self.last_get = now
        elif self.last_error not in _ASK_AGAIN:
            raise ApiError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)

    def check_push(self, subscription_id: int, now: float, *, is_terminating: bool) -> None:
        """Raise :class:`ApiError` if the client must not push this."""
        was_terminating, self.is_terminating = self.is_terminating, is_terminating
        if was_terminating:
            raise ApiError(ErrorCode.INVALID_REQUEST)
        # The first push after a get may come early: clients spread theirs over the interval.
        is_due = self.last_get > self.last_push or now - self.last_push >= self.request.interval_ms
        if is_due:
            self.last_push = now
        elif not is_terminating:
            raise ApiError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        if subscription_id != self.subscription_id:
            raise ApiError(ErrorCode.UNKNOWN_SUBSCRIPTION_ID)

    def is_expired(self, now: float) -> bool:
        return now - self.last_seen >= max(MIN_IDLE_MS, 3 * self.request.interval_ms)


_ASK_AGAIN = (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
"""The errors after which a client asks at once what to push."""


class ClientInstances:
    """All clients that have sent a request about metrics, the latest ones."""

    def __init__(self, max_instances: int = MAX_INSTANCES) -> None:
        self._instances: OrderedDict[UUID, ClientInstance] = OrderedDict()
        self._max_instances = max_instances

    def __len__(self) -> int:
        return len(self._instances)

    def __contains__(self, client_instance_id: UUID) -> bool:
        return client_instance_id in self._instances

    def seen(
        self,
        client_instance_id: UUID,
        generation: int,
        request: Callable[[], Request],
        now: float,
    ) -> ClientInstance:
        """Return a client that has sent a request, new if it is not known in this generation."""
        found = self._instances.get(client_instance_id)
        if found is None or found.generation != generation or found.is_expired(now):
            asked = request()
            found = ClientInstance(
                request=asked,
                subscription_id=asked.id_for(client_instance_id),
                generation=generation,
            )
            self._instances[client_instance_id] = found
        found.last_seen = now
        self._instances.move_to_end(client_instance_id)
        if len(self._instances) > self._max_instances:
            self._instances.popitem(last=False)
        return found

    def forget(self, client_instance_id: UUID) -> None:
        """Forget a client, if it is known."""
        self._instances.pop(client_instance_id, None)
