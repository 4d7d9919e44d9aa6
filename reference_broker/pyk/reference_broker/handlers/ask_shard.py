"""Hand requests to the shard that serves a key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.coordinator.decision import NOTHING, Decision
from pyk.reference_broker.coordinator.runtime import ShardRuntime
from pyk.reference_broker.coordinator.shards import Shards
from pyk.reference_broker.deferred import Deferred, gather
from pyk.reference_broker.errors import ApiError
from pyk.runtime.timers import Moment

R = TypeVar("R")


class ShardServices(Protocol):
    """The services that requests to shards use."""

    @property
    def image(self) -> MetadataImage: ...
    @property
    def shards(self) -> Shards: ...


def find_shard(services: ShardServices, topic: str, key: str) -> ShardRuntime[Any]:
    """Return the shard of a key; raise :class:`ApiError` if this broker runs none for it."""
    found = services.image.topics.get(topic)
    return services.shards.find(topic, key, len(found.partitions) if found else 0)


def ask_shard(
    services: ShardServices,
    topic: str,
    key: str,
    handle: Callable[[Any, Moment], tuple[R, Decision]],
) -> Deferred[R | ErrorCode]:
    """Return what the shard answers, once its records are committed, or the error that it met."""
    try:
        runtime = find_shard(services, topic, key)
    except ApiError as error:
        refused: Deferred[R | ErrorCode] = Deferred()
        refused.complete(error.code)
        return refused
    return runtime.ask(handle, lambda code: code)


def ask_all_shards(
    services: ShardServices, topic: str, view: Callable[[Any, Moment], list[R]]
) -> Deferred[list[R] | ErrorCode]:
    """Return what ``view`` sees of all shards of a topic, or why some of them cannot be read."""
    shards = services.shards
    if shards.is_loading(topic):
        refused: Deferred[list[R] | ErrorCode] = Deferred()
        refused.complete(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return refused

    def look(runtime: ShardRuntime[Any]) -> Deferred[list[R] | ErrorCode]:
        def failed(error: ErrorCode) -> list[R] | ErrorCode:
            if runtime not in shards.of_topic(topic):
                return []  # it was unloaded meanwhile: another broker shows them
            is_here = error == ErrorCode.NOT_COORDINATOR  # as its log has failed
            return ErrorCode.COORDINATOR_NOT_AVAILABLE if is_here else error

        return runtime.ask(lambda shard, moment: (view(shard, moment), NOTHING), failed)

    return gather([look(runtime) for runtime in shards.of_topic(topic)]).then(_all_or_error)


def _all_or_error(found: list[list[R] | ErrorCode]) -> list[R] | ErrorCode:
    together: list[R] = []
    for some in found:
        if isinstance(some, ErrorCode):
            return some
        together += some
    return together
