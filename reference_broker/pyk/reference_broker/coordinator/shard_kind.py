"""A kind of shard: what serves the partitions of one internal topic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.broker_channels import BrokerChannels
from pyk.reference_broker.config import BrokerConfig
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.deferred import Deferred
from pyk.runtime import slotted
from pyk.runtime.timers import Moment, TimerQueue

from .decision import Decision
from .runtime import Shard, nobody_acts, same_error
from .shard_timers import ShardTimers

if TYPE_CHECKING:
    from pyk.reference_broker.share_persister import SharePersister

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
    """The configuration as it is now; ``current_config`` returns it as it is then."""
    current_config: Callable[[], BrokerConfig]
    timers: ShardTimers
    new_uuid: Callable[[], UUID]
    leader_epoch: int
    """The epoch in which this broker leads the partition: others know an older coordinator by
    it."""
    feature_level: Callable[[str], int]
    """Returns the finalized level of a feature, 0 if it is off."""
    image: MetadataImage
    """The metadata that this broker knows; they change between two events."""


@slotted.frozen(kw_only=True)
class BrokerEnvironment:
    """The broker around its shards: what carries out their actions needs it."""

    channels: BrokerChannels
    image: MetadataImage
    timers: TimerQueue
    moment: Callable[[], Moment]
    share_persister: Callable[[], SharePersister]
    """Returns the one way to share coordinators: what a broker asks of them keeps its order."""


Act = Callable[[Any], Deferred[Any]]
"""Carries out the request of an action; the result is abandoned when the shard is unloaded."""


def _no_actions(_: BrokerEnvironment) -> Act:
    return nobody_acts


def _any_key(_: str) -> bool:
    return True


@slotted.frozen(kw_only=True)
class ShardKind:
    """One internal topic and what runs over its partitions.

    A broker is started with a table of these. All else follows from it: the topic is created when a
    client first looks for a coordinator, its partitions are opened at every start, each that this
    broker leads is loaded and served, and clients cannot write to it.
    """

    topic: str
    key_type: int
    """The key type of FindCoordinator for the keys that this topic holds."""
    internal_topic: Callable[[BrokerConfig], InternalTopic]
    new_shard: Callable[[ShardEnvironment], CoordinatorShard]
    """Imports the shard's module when it is first called: a broker must start fast."""
    write_error: Callable[[ErrorCode], ErrorCode] = same_error
    """The error code for clients when records could not be written."""
    new_act: Callable[[BrokerEnvironment], Act] = _no_actions
    """Makes the function that carries out the actions of these shards, when there is one."""
    is_key: Callable[[str], bool] = _any_key
    """Returns whether a text can be a key of this kind."""
