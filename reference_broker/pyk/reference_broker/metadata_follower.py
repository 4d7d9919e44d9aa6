"""Follow committed metadata: what this broker does because of it, repeated until it is done.

The order is always decide, commit, publish. The controller decides by its own image. When the
high watermark of the metadata log has passed the records, they change the image that the broker
shows to clients, which cannot fail. What follows from them (open a log, delete it, load a shard,
forget offsets, configure) may fail, so each is a *step* with a name. A step looks at the image as
it is and brings one thing in line with it. So it can be repeated at any time, and is repeated until
it succeeds.

A start after a clean shutdown has nothing to repair, so most logs are opened on first use, or when
the maintenance needs all of them.

A topic of thousands of partitions is thousands of changes. A turn of the loop follows only some of
them, so that clients are served in between. Partitions that are not open yet answer with an error
that clients retry.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from uuid import UUID

from pyk.protocol.records import Compression
from pyk.protocol.topics import TopicPartition
from pyk.runtime.timers import Moment, TimerQueue

from .broker_configs import BrokerConfigs
from .controller.image import (
    BROKER_RESOURCE,
    TOPIC_RESOURCE,
    Change,
    ConfigChanged,
    MetadataImage,
    PartitionChanged,
    TopicDeleted,
)
from .controller.records import MetadataRecord
from .coordinator.shards import Shards
from .deferred import Deferred
from .partition import Partition
from .partition_log import PartitionLog
from .replicas import Replicas
from .retried_steps import RetriedSteps
from .storage import TransactionMarker

CHANGES_IN_A_TURN = 64
PARTITIONS_IN_A_TURN = 64
"""How many partitions of a topic are opened in one turn of the event loop at a start."""


class MetadataFollower:
    """Brings the image, partitions, shards and configurations in line with the metadata log."""

    def __init__(
        self,
        image: MetadataImage,
        *,
        replicas: Replicas,
        shards: Shards,
        configs: BrokerConfigs,
        timers: TimerQueue,
        moment: Callable[[], Moment],
    ) -> None:
        self._image = image
        self._replicas = replicas
        self._shards = shards
        self._configs = configs
        self._steps = RetriedSteps(timers, moment)
        self._timers = timers
        self._moment = moment
        self._done_in_turn = 0
        self._waiting: deque[Callable[[], None]] = deque()
        self._waiting_for_names: set[TopicPartition] = set()
        self._caught_up: Deferred[None] = Deferred()
        self._is_loading = True

    def caught_up(self) -> Deferred[None]:
        """Return what is done once no change waits for its turn, now if none does."""
        caught_up = self._caught_up
        self._tell_if_caught_up()
        return caught_up

    def stop(self) -> None:
        """Follow no more changes: the broker ends."""
        self._waiting.clear()
        self._waiting_for_names.clear()
        self._tell_if_caught_up()

    # -- at the start ------------------------------------------------------------------------------

    def follow_all(self, *, is_clean: bool) -> Iterator[None]:
        """Follow all that the image holds; yield now and then, so that others can run.

        After a clean shutdown only the partitions of internal topics are opened: they are what
        shards are loaded from.
        """
        self._is_loading = False
        self._configs.update()
        self._replicas.expect_logs()
        for topic in tuple(self._image.topics.values()):
            names = [TopicPartition(topic.name, number) for number in topic.partitions]
            if is_clean and topic.name not in self._shards.kinds:
                self._replicas.open_when_used(names, self.follow)
                continue
            for name in names:
                self.follow(name)
                if name.partition % PARTITIONS_IN_A_TURN == 0:
                    yield

    def is_in_image(self, name: TopicPartition, topic_id: UUID | None) -> bool:
        """Return whether a log belongs to a partition that exists; None is an unknown topic id."""
        topic = self._image.topics.get(name.topic)
        if topic is None or name.partition not in topic.partitions:
            return False
        return topic_id in (None, topic.topic_id)

    def follow_unused(self, then: Callable[[], None]) -> None:
        """Follow the partitions that were not used yet, in turns, and call ``then`` after them.

        One that fails is tried again later, and delays nothing else.
        """
        for name in self._replicas.unopened():
            self._in_turn(partial(self.follow, name))
        self._in_turn(then)

    # -- changes -----------------------------------------------------------------------------------

    def commit(self, records: Iterable[MetadataRecord]) -> None:
        """Replay committed records, and follow the changes in turns.

        Before :meth:`follow_all` they are only replayed: the log is being loaded.
        """
        has_deleted = False
        for record in records:
            for change in self._image.replay(record.message):
                if not self._is_loading:
                    self._follow_change(change)
                    has_deleted |= isinstance(change, TopicDeleted)
        if has_deleted:
            # Once for all of them: shards look through all that they have.
            self._steps.carry_out("forgetting what belongs to deleted topics", self._forget_deleted)

    def _follow_change(self, change: Change) -> None:
        if isinstance(change, PartitionChanged):
            self._in_turn(partial(self.follow, change.topic_partition))
        elif isinstance(change, TopicDeleted):
            names = [TopicPartition(change.topic.name, each) for each in change.topic.partitions]
            for name in names:
                # At once: a topic of this name may be created before its turn.
                self._replicas.retire(name)
                self._shards.unload(name)
            for name in names:
                self._in_turn(partial(self._delete, name, change.topic.topic_id))
        else:
            self._in_turn(partial(self._follow_config, change))

    def _forget_deleted(self) -> None:
        self._shards.forget_deleted_topics(self._image.topic_id)

    def _follow_config(self, change: ConfigChanged) -> None:
        topic = change.resource_name
        if change.resource_type == TOPIC_RESOURCE:
            self._steps.carry_out(
                f"configuring {topic}", lambda: self._replicas.update_config(topic)
            )
        elif change.resource_type == BROKER_RESOURCE:
            self._steps.carry_out("configuring the broker", self._configs.update)

    # -- partitions --------------------------------------------------------------------------------

    def follow(self, name: TopicPartition) -> None:
        """Bring one partition in line with the image."""
        self._steps.carry_out(f"opening or deleting {name}", lambda: self._follow(name))

    def _delete(self, name: TopicPartition, topic_id: UUID) -> None:
        """Delete the log of a deleted topic; one of its name that there is now has its own turn."""
        self._steps.carry_out(
            f"deleting {name}", lambda: self._replicas.delete_former(name, topic_id)
        )

    def _follow(self, name: TopicPartition) -> None:
        held = self._replicas.find(name)
        was_led = held is not None and held.is_leader
        try:
            if not self._replicas.follow(name, lambda: self._name_freed(name)):
                self._waiting_for_names.add(name)
        finally:
            now_held = self._replicas.find(name)
            if name.topic in self._shards.kinds:
                if now_held is not None and now_held is not held:
                    now_held.add_marker_listener(partial(self._transaction_ended, name))
                is_led = now_held is not None and now_held.is_leader
                if now_held is not held or is_led != was_led:
                    self._follow_shard(name, now_held)

    def _follow_shard(self, name: TopicPartition, held: Partition | None) -> None:
        """Load the shard over a partition that this broker leads now, or end it."""
        self._shards.unload(name)
        if held is not None:
            self._steps.carry_out(f"loading {name}", lambda: self._load_shard(held))

    def went_offline(self, names: Iterable[TopicPartition]) -> None:
        """Serve these partitions no more: their log directory has failed."""
        lost = list(names)
        self._replicas.go_offline(lost)
        for name in lost:
            self._shards.unload(name)

    def _transaction_ended(self, name: TopicPartition, marker: TransactionMarker, _: int) -> None:
        self._shards.transaction_ended(name, marker.producer_id, is_commit=marker.is_commit)

    def _name_freed(self, name: TopicPartition) -> None:
        self._waiting_for_names.discard(name)
        self.follow(name)
        self._tell_if_caught_up()

    def _load_shard(self, partition: Partition) -> None:
        if not partition.is_leader:
            return  # it is gone
        name = partition.topic_partition
        topic = self._shards.kinds[name.topic].internal_topic(self._configs.broker)
        shard_log = PartitionLog(partition, Compression.of_codec(topic.compression_codec))
        for _ in self._shards.load(name, shard_log, self._image.topic_id):
            pass

    # -- turns -------------------------------------------------------------------------------------

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
