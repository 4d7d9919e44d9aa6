"""Publish committed metadata: what this broker does because of it, repeated until it is done.

The order is always decide, commit, publish. The controller decides by its own image. When the
high watermark of the metadata log has passed the records, they change the image that the broker
shows to clients, which cannot fail. What follows from them (open a log, delete it, forget offsets)
may fail, so each is a *step* with a name. A step looks at the image as it is and brings one
thing in line with it. So it can be repeated at any time, and is repeated until it succeeds.

A start after a clean shutdown has nothing to repair, so most logs are opened when somebody uses
them, or when the maintenance needs all of them.

A topic of thousands of partitions is thousands of changes. A turn of the loop follows only some of
them, so that clients are served in between. Partitions that are not open yet answer with an error
that clients retry.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from pyk.runtime.timers import Moment, TimerQueue

from .controller.image import (
    TOPIC_RESOURCE,
    Change,
    ConfigChanged,
    MetadataImage,
    PartitionChanged,
    TopicDeleted,
)
from .controller.names import GROUP_METADATA_TOPIC
from .coordinator.runtime import ShardLog
from .deferred import Deferred
from .partition import Partition
from .replicas import Replicas
from .retried_steps import RetriedSteps
from .topic_partition import TopicPartition

if TYPE_CHECKING:
    from .coordinator.group.coordinator import GroupCoordinator


CHANGES_IN_A_TURN = 64


class MetadataPublisher:
    """Brings partitions, groups and configurations in line with the image."""

    def __init__(
        self,
        image: MetadataImage,
        replicas: Replicas,
        steps: RetriedSteps,
        *,
        groups: Callable[[], GroupCoordinator],
        shard_log: Callable[[Partition], ShardLog],
        update_broker_config: Callable[[], None],
        timers: TimerQueue,
        moment: Callable[[], Moment],
    ) -> None:
        self._image = image
        self._replicas = replicas
        self._steps = steps
        self._groups = groups
        self._shard_log = shard_log
        self._update_broker_config = update_broker_config
        self._timers = timers
        self._moment = moment
        self._done_in_turn = 0
        self._waiting: deque[Callable[[], None]] = deque()
        self._waiting_for_names: set[TopicPartition] = set()
        self._caught_up: Deferred[None] = Deferred()

    def when_caught_up(self, listener: Callable[[None], object]) -> None:
        """Call ``listener`` once no change waits for its turn, now if none does."""
        if self._waiting or self._waiting_for_names:
            self._caught_up.when_done(listener)
        else:
            listener(None)

    def publish(self, change: Change) -> None:
        """Follow a change of the image, in later turns of the loop if there is much to do."""
        if isinstance(change, PartitionChanged):
            self._in_turn(partial(self.follow, change.topic_partition))
        elif isinstance(change, TopicDeleted):
            names = [TopicPartition(change.topic.name, each) for each in change.topic.partitions]
            for name in names:
                self._retire(name)
            for name in names:
                self._in_turn(partial(self.follow, name))
            self._forget_offsets_of_deleted_topics()
        else:
            self._in_turn(partial(self._config_changed, change))

    def _retire(self, name: TopicPartition) -> None:
        """Stop taking records at once: a topic of this name may be created before its turn."""
        self._replicas.retire(name)
        if name.topic == GROUP_METADATA_TOPIC:
            self._groups().remove_shard(name.partition)

    def _in_turn(self, step: Callable[[], None]) -> None:
        if self._done_in_turn == CHANGES_IN_A_TURN:
            self._waiting.append(step)
            return
        if self._done_in_turn == 0:
            self._timers.schedule(self, self._moment().after(1), self._next_turn)
        self._done_in_turn += 1
        step()

    def _next_turn(self, _: float) -> None:
        self._done_in_turn = 0
        for _turn in range(min(CHANGES_IN_A_TURN, len(self._waiting))):
            self._in_turn(self._waiting.popleft())
        self._tell_if_caught_up()

    def _tell_if_caught_up(self) -> None:
        if not self._waiting and not self._waiting_for_names:
            caught_up, self._caught_up = self._caught_up, Deferred()
            caught_up.complete(None)

    def follow(self, name: TopicPartition) -> None:
        """Bring one partition in line with the image."""
        self._steps.carry_out(f"opening or deleting {name}", lambda: self._follow(name))

    def follow_when_used(self, names: Iterable[TopicPartition]) -> None:
        """Bring partitions in line with the image when somebody uses them, or ``follow_unused``."""
        self._replicas.open_when_used(names, self.follow)

    def follow_unused(self, then: Callable[[], None]) -> None:
        """Follow the partitions that nobody has used yet, in turns, and call ``then`` after them.

        One that fails is tried again later, and delays nothing else.
        """
        for name in self._replicas.unopened():
            self._in_turn(partial(self.follow, name))
        self._in_turn(then)

    def _name_freed(self, name: TopicPartition) -> None:
        self._waiting_for_names.discard(name)
        self.follow(name)
        self._tell_if_caught_up()

    def load_groups(self, partition: Partition) -> None:
        """Coordinate the groups of a partition of ``__consumer_offsets``."""
        self._steps.carry_out(
            f"loading the groups of {partition.topic_partition}",
            lambda: self._load_groups(partition),
        )

    def _follow(self, name: TopicPartition) -> None:
        held = self._replicas.find(name)
        try:
            if not self._replicas.follow(name, lambda: self._name_freed(name)):
                self._waiting_for_names.add(name)
        finally:
            now_held = self._replicas.find(name)
            if name.topic == GROUP_METADATA_TOPIC and now_held is not held:
                self._groups().remove_shard(name.partition)
                if now_held is not None:
                    self.load_groups(now_held)

    def _load_groups(self, partition: Partition) -> None:
        if not partition.is_leader:
            return  # it is gone
        number = partition.topic_partition.partition
        shard_log = self._shard_log(partition)
        for _ in self._groups().add_shard(number, shard_log, self._image.topic_id):
            pass

    def _forget_offsets_of_deleted_topics(self) -> None:
        self._steps.carry_out("forgetting the offsets of deleted topics", self._forget_offsets)

    def _forget_offsets(self) -> None:
        if GROUP_METADATA_TOPIC in self._image.topics:
            self._groups().forget_deleted_topics(self._image.topic_id)

    def _config_changed(self, change: ConfigChanged) -> None:
        topic = change.resource_name
        if change.resource_type == TOPIC_RESOURCE:
            self._steps.carry_out(
                f"configuring {topic}", lambda: self._replicas.update_config(topic)
            )
        else:
            self._steps.carry_out("configuring the broker", self._update_broker_config)
