"""Hand requests about a group to the shard that coordinates it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.coordinator.decision import Decision
from pyk.reference_broker.coordinator.group.shard import GroupShard
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.errors import ApiError
from pyk.runtime.timers import Moment

if TYPE_CHECKING:
    from pyk.reference_broker.broker import Broker

R = TypeVar("R")


def ask_group(
    broker: Broker, group_id: str, handle: Callable[[GroupShard, Moment], tuple[R, Decision]]
) -> Deferred[R | ErrorCode]:
    """Return what the shard answers, once its records are committed, or the error that it met."""
    try:
        runtime = broker.group(group_id)
    except ApiError as error:
        refused: Deferred[R | ErrorCode] = Deferred()
        refused.complete(error.code)
        return refused
    return runtime.ask(handle, lambda code: code)
