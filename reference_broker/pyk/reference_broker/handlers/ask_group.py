"""Hand requests about a group to the shard that coordinates it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.controller.names import GROUP_METADATA_TOPIC
from pyk.reference_broker.coordinator.decision import NOTHING, Decision
from pyk.reference_broker.coordinator.group.shard import GroupShard
from pyk.reference_broker.coordinator.runtime import ShardRuntime
from pyk.reference_broker.deferred import Deferred
from pyk.runtime.timers import Moment

from .ask_shard import ShardServices, ask_shard, find_shard

R = TypeVar("R")

GroupServices = ShardServices
"""The services that requests about groups use."""


def find_group(services: GroupServices, group_id: str) -> ShardRuntime[GroupShard]:
    """Return the shard that coordinates a group; raise :class:`ApiError` if none does here."""
    return find_shard(services, GROUP_METADATA_TOPIC, group_id)


def ask_group(
    services: GroupServices,
    group_id: str,
    handle: Callable[[GroupShard, Moment], tuple[R, Decision]],
) -> Deferred[R | ErrorCode]:
    """Return what the shard answers, once its records are committed, or the error that it met."""
    return ask_shard(services, GROUP_METADATA_TOPIC, group_id, handle)


def look_at_group(
    services: GroupServices, group_id: str, view: Callable[[GroupShard], R]
) -> Deferred[R | ErrorCode]:
    """Return what ``view`` sees of the shard, once that is committed, or the error that it met."""
    return ask_group(services, group_id, lambda shard, _: (view(shard), NOTHING))
