"""Hand requests about a group to the shard that coordinates it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.controller.names import GROUP_METADATA_TOPIC
from pyk.reference_broker.coordinator.decision import NOTHING, Decision
from pyk.reference_broker.coordinator.group.shard import GroupShard
from pyk.reference_broker.coordinator.runtime import ShardRuntime
from pyk.reference_broker.coordinator.shards import Shards
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.errors import ApiError
from pyk.runtime.timers import Moment

R = TypeVar("R")


class GroupServices(Protocol):
    """The services that requests about groups use."""

    @property
    def image(self) -> MetadataImage: ...
    @property
    def shards(self) -> Shards: ...


def find_group(services: GroupServices, group_id: str) -> ShardRuntime[GroupShard]:
    """Return the shard that coordinates a group; raise :class:`ApiError` if none does here."""
    topic = services.image.topics.get(GROUP_METADATA_TOPIC)
    partition_count = len(topic.partitions) if topic else 0
    return services.shards.find(GROUP_METADATA_TOPIC, group_id, partition_count)


def ask_group(
    services: GroupServices,
    group_id: str,
    handle: Callable[[GroupShard, Moment], tuple[R, Decision]],
) -> Deferred[R | ErrorCode]:
    """Return what the shard answers, once its records are committed, or the error that it met."""
    try:
        runtime = find_group(services, group_id)
    except ApiError as error:
        refused: Deferred[R | ErrorCode] = Deferred()
        refused.complete(error.code)
        return refused
    return runtime.ask(handle, lambda code: code)


def look_at_group(
    services: GroupServices, group_id: str, view: Callable[[GroupShard], R]
) -> Deferred[R | ErrorCode]:
    """Return what ``view`` sees of the shard, once that is committed, or the error that it met."""
    return ask_group(services, group_id, lambda shard, _: (view(shard), NOTHING))
