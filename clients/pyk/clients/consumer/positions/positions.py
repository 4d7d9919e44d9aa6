"""Where to read each assigned partition, and how to find out. Pure.

                 assigned to a group member            assigned by hand
                          │                                   │
                      COMMITTED ── nothing committed ──► RESET ◄── offset out of range
                          │ found                     found │ │    seek to beginning or end
                          └────────────► KNOWN ◄────────────┘ │
      leader has another epoch │   ▲ nothing truncated        │ policy "none"
                          VALIDATE ┘                       FAILED ── seek ──► KNOWN

Only KNOWN partitions are fetched. The place itself, the offsets, is in the partition's buffer,
where the application moves it. A look-up takes along the buffer's ``version``; an answer that comes
after a seek, or after another assignment, finds another version and changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING
from uuid import UUID

import attrs

from pyk.clients.consumer.buffer.partition_buffer import UNKNOWN
from pyk.clients.consumer.positions.place import Place, PlaceState
from pyk.clients.consumer.positions.position_errors import old_leader_error, truncated_error
from pyk.clients.consumer.positions.saved_positions import SavedPositions
from pyk.clients.engine.backoff import Backoff
from pyk.clients.engine.metadata import MetadataImage
from pyk.clients.errors import (
    KafkaError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
    TopicRecreatedError,
)
from pyk.clients.offsets import OffsetSpec
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.protocol.fields import ZERO_UUID

if TYPE_CHECKING:
    from pyk.clients.consumer.buffer.fetch_buffer import FetchBuffer

log = logging.getLogger(__name__)

# How often a leader is asked again that is in an older epoch than what was read: metadata lag.
OLD_LEADER_TRIES = 5

POLICIES = {"earliest": OffsetSpec.EARLIEST, "latest": OffsetSpec.LATEST}


@attrs.frozen
class FoundOffset:
    """An offset that a leader named, the epoch of the record there, and the leader's own."""

    offset: int
    epoch: int = UNKNOWN
    leader_epoch: int = UNKNOWN


class Positions:
    """The places of all assigned partitions. ``chance`` gives numbers from 0 to 1."""

    def __init__(
        self,
        buffer: FetchBuffer,
        auto_offset_reset: str,
        backoff: Backoff,
        chance: Callable[[], float],
    ) -> None:
        self._buffer = buffer
        self._policy = POLICIES.get(auto_offset_reset)
        self._backoff = backoff
        self._chance = chance
        self._places: dict[TopicPartition, Place] = {}
        self._saved = SavedPositions()
        self._followed_version = UNKNOWN
        """The version of the metadata that all places were last compared with."""
        self._has_news = False
        """Whether there are places that were not compared with them yet."""

    def __contains__(self, topic_partition: object) -> bool:
        return topic_partition in self._places

    def __iter__(self) -> Iterator[Place]:
        """Iterate over the places as they are now: another thread may change them meanwhile."""
        return iter(self.places())

    def __getitem__(self, topic_partition: TopicPartition) -> Place:
        return self._places[topic_partition]

    @property
    def partitions(self) -> set[TopicPartition]:
        return set(self._places)

    def places(self) -> list[Place]:
        """Return all places, in the order in which they were assigned."""
        return list(self._places.values())

    def current(self, topic_partition: TopicPartition, version: int) -> Place | None:
        """Return a place if it is still the one that had this version."""
        place = self._places.get(topic_partition)
        return place if place is not None and place.version == version else None

    def is_assigned(self, place: Place) -> bool:
        """Tell whether a partition is still assigned, and was all the time since."""
        return self._places.get(place.topic_partition) is place

    # -- assignment --------------------------------------------------------------------------------

    def assign(
        self,
        partitions: Iterable[TopicPartition],
        now: float,
        *,
        has_group: bool,
        topic_ids: Mapping[str, UUID | None] = MappingProxyType({}),
        has_grown: bool = False,
    ) -> list[Place]:
        """Add partitions; where to begin is what the group committed, if there is a group.

        Without one, a partition that was set aside is read on if its topic is still the same, and
        one by which a topic ``has_grown`` while it was read is read from its beginning.
        """
        grown_topics = self._topics if has_grown else frozenset()
        state = PlaceState.COMMITTED if has_group else PlaceState.RESET
        added = []
        for partition in partitions:
            if partition not in self._places:
                buffer = self._buffer.add_partition(partition)
                place = Place(buffer, state, topic_ids.get(partition.topic), now)
                self._places[partition] = place
                self._has_news = True
                added.append(place)
                if not has_group:
                    self._begin(place, is_new=partition.topic in grown_topics)
        return added

    def _begin(self, place: Place, *, is_new: bool) -> None:
        """Choose where to begin without a group."""
        saved = self._saved.take(place.topic_partition)
        if saved is not None and saved.is_paused:
            self._buffer.pause(place.buffer)
        if saved is None and is_new:
            self._reset_to(place, OffsetSpec.EARLIEST)
        elif saved is None or saved.offset == UNKNOWN:
            self._reset_by_policy(place, NoOffsetForPartitionError, "no group_id is given")
        elif saved.topic_id == place.topic_id:
            self._know(place, saved.offset, saved.epoch)
        else:
            self._begin_new_topic(place, saved.offset)

    def unassign(self, partitions: Iterable[TopicPartition]) -> None:
        """Remove partitions, and forget where they were read."""
        for partition in partitions:
            self._saved.take(partition)
            self._remove(partition)

    def set_aside(self, partitions: Iterable[TopicPartition]) -> None:
        """Remove partitions that disappeared; they are read on if they come back."""
        for partition in partitions:
            place = self._remove(partition)
            if place is not None:
                self._saved.save(place.buffer, place.topic_id)

    def _remove(self, partition: TopicPartition) -> Place | None:
        place = self._places.pop(partition, None)
        if place is not None:
            self._buffer.remove_partition(place.buffer)
        return place

    @property
    def _topics(self) -> frozenset[str]:
        """The topics that are read, or were until they disappeared."""
        return self._saved.topics.union(partition.topic for partition in self._places)

    def keep_topics(self, topics: Collection[str]) -> None:
        """Forget where other topics were read that disappeared."""
        self._saved.keep_topics(topics)

    def in_state(self, state: PlaceState, now: float) -> list[Place]:
        """Return the places in a state whose next try is due."""
        return [p for p in self._places.values() if p.state is state and p.retry_at <= now]

    def next_retry(self, now: float) -> float | None:
        """Return when the next place that waits for another try is due."""
        return min((p.retry_at for p in self._places.values() if p.retry_at > now), default=None)

    def lacks_leaders(self, image: MetadataImage) -> bool:
        """Tell whether a partition waits for somebody to lead it."""
        return any(image.leader(partition) is None for partition in self._places)

    # -- answers -----------------------------------------------------------------------------------

    def found_committed(
        self, place: Place, version: int, committed: OffsetAndMetadata | None, now: float
    ) -> None:
        """Take what the group has committed for a partition."""
        if not self._is_current(place, version, PlaceState.COMMITTED):
            return
        place.succeeded(now)
        if committed is not None:
            epoch = UNKNOWN if committed.leader_epoch is None else committed.leader_epoch
            self._know(place, committed.offset, epoch)
            return
        place.state = PlaceState.RESET
        self._reset_by_policy(place, NoOffsetForPartitionError, "the group has not committed one")

    def found_offset(self, place: Place, version: int, found: FoundOffset, now: float) -> None:
        """Take the offset that a RESET asked for."""
        if self._is_current(place, version, PlaceState.RESET):
            place.succeeded(now)
            self._know(place, found.offset, found.epoch)
            place.leader_epoch = found.leader_epoch

    def found_epoch_end(
        self, place: Place, version: int, end_offset: int, leader_epoch: int, now: float
    ) -> None:
        """Take where the leader's log of the epoch that was read ends.

        With -1 the leader has no such epoch. It may be the leader of before, still named by
        metadata; if it is not, what was read is in nobody's log.
        """
        if not self._is_current(place, version, PlaceState.VALIDATE):
            return
        is_old_leader = end_offset < 0 and leader_epoch < place.fetched_epoch
        if is_old_leader and place.failures < OLD_LEADER_TRIES:
            error = old_leader_error(
                place.topic_partition, place.buffer.fetch_offset, place.fetched_epoch, leader_epoch
            )
            self.failed(place, version, error, now)
            return
        self.cannot_validate(place, version, leader_epoch, now)
        if end_offset < place.buffer.fetch_offset:
            self._truncated(place, end_offset)

    def cannot_validate(self, place: Place, version: int, leader_epoch: int, now: float) -> None:
        """Read on from a leader that is too old to be asked."""
        if self._is_current(place, version, PlaceState.VALIDATE):
            place.succeeded(now)
            place.leader_epoch = leader_epoch
            place.state = PlaceState.KNOWN
            self._compare_again(place)

    def failed(self, place: Place, version: int, error: KafkaError, now: float) -> None:
        """Take note that a look-up, or a fetch, did not succeed; it is tried again."""
        if place.version != version:
            return
        place.failures += 1
        place.retry_at = now + self._backoff.delay(place.failures, self._chance())
        place.waits(error, now)

    def tell(self, place: Place, error: KafkaError) -> None:
        """Have the application hear of an error that keeps a partition from being read."""
        self._buffer.fail(place.buffer, error)

    def out_of_range(self, place: Place, now: float) -> None:
        """Begin elsewhere, or fail: the log has no such offset."""
        log.warning(
            "Offset %d of %s is not in its log", place.buffer.position, place.topic_partition
        )
        place.succeeded(now)
        position = place.buffer.position
        place.state = PlaceState.RESET
        self._reset_by_policy(
            place, OffsetOutOfRangeError, "the log does not have this offset", position
        )

    def follow(self, image: MetadataImage) -> None:
        """Take note of new leaders, of their epochs, and of topics that were created again."""
        if not self._has_news and self._followed_version == image.version:
            return
        self._has_news = False
        self._followed_version = image.version
        for place in self._places.values():
            if place.seen_version != image.version:
                place.seen_version = image.version
                self._follow(place, image)

    def _follow(self, place: Place, image: MetadataImage) -> None:
        topic = image.topic(place.topic_partition.topic)
        topic_id = None if topic is None else topic.topic_id
        place.named_id = topic_id or ZERO_UUID
        if topic_id is not None:
            self.topic_seen(place, topic_id)
        leader = image.leader(place.topic_partition)
        if leader != place.leader:
            place.leader = leader
            place.ask_at_once()  # the failures were those of another
        epoch = image.leader_epoch(place.topic_partition)
        place.named_epoch = UNKNOWN if epoch is None else epoch
        if epoch is not None:
            self.leader_changed(place, epoch)

    def topic_seen(self, place: Place, topic_id: UUID) -> None:
        """Begin again where a topic was deleted and created again: it is another topic.

        All of it is news to who was reading the topic, so it is read from its beginning, whatever
        end the policy names.
        """
        former_id = place.topic_id
        place.topic_id = topic_id
        if former_id in (None, topic_id):
            return
        saved = self._saved.take(place.topic_partition)
        if saved is not None and saved.topic_id == topic_id:  # the other id was a false one
            self._know(place, saved.offset, saved.epoch)
        elif place.state in (PlaceState.KNOWN, PlaceState.VALIDATE):
            log.warning(
                "Topic %s was deleted and created again; %s was read up to offset %d",
                place.topic_partition.topic,
                place.topic_partition,
                place.buffer.position,
            )
            self._saved.save(place.buffer, former_id)
            self._begin_new_topic(place, place.buffer.position)

    def _begin_new_topic(self, place: Place, former_offset: int) -> None:
        place.readable_end = UNKNOWN
        place.preferred_node = None
        if self._policy is not None:
            self._reset_to(place, OffsetSpec.EARLIEST)
            return
        reason = "the topic was deleted and created again"
        self._reset_by_policy(place, TopicRecreatedError, reason, former_offset)

    def leader_changed(self, place: Place, leader_epoch: int) -> None:
        """Make sure that the leader has what was read from another, or by another (KIP-320).

        A committed offset and one that was sought have an epoch too, if who read it knew it.
        """
        if place.state is not PlaceState.KNOWN or leader_epoch <= place.leader_epoch:
            return
        if place.fetched_epoch != UNKNOWN:
            place.state = PlaceState.VALIDATE
        else:
            place.leader_epoch = leader_epoch
        place.ask_at_once()

    # -- what the application wants ----------------------------------------------------------------

    def seek(self, place: Place, offset: int, epoch: int) -> None:
        """Read on from ``offset``."""
        self._saved.take(place.topic_partition)
        is_there = place.buffer.position == offset
        is_there &= epoch in (UNKNOWN, place.buffer.position_epoch)
        if is_there and place.state is PlaceState.KNOWN and not place.buffer.is_unreadable:
            return  # what is fetched stays of use
        self._know(place, offset, epoch)

    def seek_to(self, place: Place, end: OffsetSpec) -> None:
        """Read on from an end of the log, EARLIEST or LATEST."""
        self._saved.take(place.topic_partition)
        self._reset_to(place, end)

    def _reset_to(self, place: Place, end: OffsetSpec) -> None:
        self._buffer.set_position(place.buffer, UNKNOWN, UNKNOWN)
        place.state = PlaceState.RESET
        place.end = end
        place.retry_at = 0.0

    # -- inside ------------------------------------------------------------------------------------

    def _is_current(self, place: Place, version: int, state: PlaceState) -> bool:
        return place.version == version and place.state is state

    def _know(self, place: Place, offset: int, epoch: int) -> None:
        self._buffer.set_position(place.buffer, offset, epoch)
        place.state = PlaceState.KNOWN
        place.fetched_epoch = epoch
        place.leader_epoch = UNKNOWN
        place.retry_at = 0.0
        self._compare_again(place)

    def _compare_again(self, place: Place) -> None:
        """Have a place compared with metadata though they stay the same."""
        place.seen_version = UNKNOWN
        self._has_news = True

    def _reset_by_policy(
        self, place: Place, kind: type[KafkaError], reason: str, offset: int | None = None
    ) -> None:
        """Ask for the end that ``auto_offset_reset`` names, or fail where it names none."""
        topic, partition = place.topic_partition
        if self._policy is not None:
            self._buffer.set_position(place.buffer, UNKNOWN, UNKNOWN)
            place.end = self._policy
            return
        place.state = PlaceState.FAILED
        error = kind(
            f"cannot read {place.topic_partition}"
            f"{'' if offset is None else f' from offset {offset}'}: {reason}, and "
            "auto_offset_reset='none' does not say where to begin; seek to an offset",
            topic=topic,
            partition=partition,
            offset=offset,
        )
        self._buffer.fail(place.buffer, error, lasts=True)

    def _truncated(self, place: Place, end_offset: int) -> None:
        position = place.buffer.position
        log.warning(
            "The log of %s was truncated %s; it had been read up to offset %d, in epoch %d",
            place.topic_partition,
            f"to offset {end_offset}" if end_offset >= 0 else "to an earlier epoch",
            position,
            place.fetched_epoch,
        )
        if end_offset >= position or (end_offset >= 0 and self._policy is not None):
            self._know(place, min(position, end_offset), UNKNOWN)
            return
        if self._policy is not None:
            self._reset_to(place, self._policy)
            return
        place.state = PlaceState.FAILED
        error = truncated_error(place.topic_partition, position, end_offset)
        self._buffer.fail(place.buffer, error, lasts=True)
