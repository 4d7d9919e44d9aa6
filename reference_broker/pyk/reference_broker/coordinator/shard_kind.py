"""A kind of shard: what serves the partitions of one internal topic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.config import BrokerConfig
from pyk.reference_broker.deferred import Deferred
from pyk.runtime import slotted

from .decision import Decision
from .runtime import Shard, nobody_acts, same_error
from .shard_timers import ShardTimers

TopicIdOf = Callable[[str], UUID | None]
"""Returns the id of a topic, None if there is no topic of this name."""


class CoordinatorShard(Shard, Protocol):
    """A shard over one partition of an internal topic."""

    def forget_deleted_topics(self, topic_id_of: TopicIdOf) -> Decision:
        """Forget what belongs to topics that exist no longer."""


@slotted.frozen(kw_only=True)
class InternalTopic:
    """How an internal topic is created, and how its records are compressed."""

    partitions: int
    replication_factor: int
    configs: Mapping[str, str]
    compression_codec: int = 0


@slotted.frozen(kw_only=True)
class ShardEnvironment:
    """The arguments of a new shard."""

    config: BrokerConfig
    timers: ShardTimers
    new_uuid: Callable[[], UUID]


@slotted.frozen(kw_only=True)
class ShardKind:
    """One internal topic and what runs over its partitions.

    A broker is started with a table of these. All else follows from it: the topic is created when a
    client first looks for a coordinator, its partitions are opened at every start, each that this
    broker leads is loaded and served, and clients cannot write to it.
    """

    topic: str
    key_type: int
    """What FindCoordinator calls the keys that this topic holds."""
    internal_topic: Callable[[BrokerConfig], InternalTopic]
    new_shard: Callable[[ShardEnvironment], CoordinatorShard]
    """Imports the shard's module when it is first called: a broker must start fast."""
    write_error: Callable[[ErrorCode], ErrorCode] = same_error
    """The error code for clients when records could not be written."""
    act: Callable[[Any], Deferred[Any]] = nobody_acts
    """Carries out the request of an action."""
