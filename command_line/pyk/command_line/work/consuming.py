"""Read a range of a topic, or what a group has not read, and hand its records to a printer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from pyk.clients import (
    Consumer,
    ConsumerRecords,
    KafkaTimeoutError,
    RebalanceListener,
    TopicPartition,
    UnknownTopicOrPartitionError,
)
from pyk.command_line.frame.connecting import admin, consumer
from pyk.command_line.frame.failures import CommandError
from pyk.command_line.frame.suggestions import did_you_mean
from pyk.command_line.interrupts import Interrupts
from pyk.command_line.moments import LATEST, Moment
from pyk.command_line.records.filters import RecordFilter
from pyk.command_line.work.interruptible import interrupts
from pyk.command_line.work.printing import Printer, output_is_closed, printer_for
from pyk.runtime import slotted

UNKNOWN_TOPIC_SECONDS = 5.0
IDLE_SECONDS = 0.5
CHECK_SECONDS = 0.05
"""A control batch at the end of a range moves the position without a record that would end the
wait, so the position is checked this often."""
MOST_RECORDS = 5_000
STABLE = "stable"


@slotted.frozen(kw_only=True)
class Wanted:
    """Which records to read."""

    topic: str
    start: Moment
    end: Moment | None = None
    """None for where the log ends when the command starts."""
    count: int | None = None
    is_followed: bool = False
    partitions: frozenset[int] = frozenset()
    """Empty for all."""
    group: str | None = None
    record_filter: RecordFilter = slotted.field(factory=RecordFilter)


def consume_topic(
    wanted: Wanted,
    *,
    formatted: Callable[[Any], bytes] | None = None,
    parquet: str | None = None,
) -> None:
    """Print the records that are wanted."""
    read_topic(wanted, printer_for(formatted, parquet, wanted.record_filter))


def read_topic(
    wanted: Wanted, printer: Printer, defaults: Mapping[str, object] = MappingProxyType({})
) -> None:
    """Hand the records that are wanted to a printer; ``defaults`` are options of the consumer."""
    options: dict[str, Any] = {
        "allow.auto.create.topics": False,
        "enable.auto.commit": False,
        "group.id": wanted.group,
    }
    from_start = {"auto.offset.reset": "earliest"}
    if wanted.group is None:  # a range has a start, whatever becomes of its log
        options |= from_start
    else:
        defaults = {**from_start, **defaults}
    with interrupts() as signals, consumer(options, defaults) as client:
        reading = Reading(client, wanted, printer, signals)
        try:
            reading.run()
        except KeyboardInterrupt:
            reading.finish()
            if not wanted.is_followed:
                raise
        reading.finish()


class Reading:
    """One run of the command."""

    def __init__(
        self, client: Consumer[Any, Any], wanted: Wanted, printer: Printer, signals: Interrupts
    ) -> None:
        self._client, self._wanted, self._printer = client, wanted, printer
        self._signals = signals
        self._ends: dict[TopicPartition, int] = {}
        """Where to stop in each partition; empty where new records are followed."""
        self._positions: dict[TopicPartition, int] = {}
        self._printed: dict[TopicPartition, int] = {}
        """The offsets to commit."""
        self._given_up: dict[TopicPartition, int] = {}
        """The same of partitions that were revoked before they could be committed."""
        self._is_running = False

    def run(self) -> None:
        """Read until the end, or for ever."""
        self._is_running = True
        try:
            self._run()
        finally:
            self._is_running = False

    def _run(self) -> None:
        if self._room() == 0:
            return
        if self._wanted.group is None:
            self._assign()
        else:
            self._subscribe()
        while not self._is_finished():
            records = self._client.poll(self._patience(), self._room())
            if not records and output_is_closed():
                return
            with self._signals.held():  # what is printed is also committed
                self._printer.take(records, self._inside(records))
                self._note(records)
            self.commit()
            if self._room() == 0:
                return

    def commit(self, *, at_once: bool = False) -> None:
        """Commit what was printed, where there is a group, once it is where it belongs."""
        if not self._printer.flush(at_once=at_once):
            return
        if self._wanted.group is not None and self._printed:
            self._client.commit(self._printed)
        self._printed = {}

    def finish(self) -> None:
        """End the output, and commit what it holds."""
        self._printer.finish()
        self.commit()

    def hand_over(self, partitions: list[TopicPartition]) -> None:
        """Commit what was printed, before other members go on with these partitions.

        Not after an error, or a signal: whoever closes the client then waits for nothing more.
        """
        try:
            if self._is_running:
                self.commit(at_once=True)
        finally:
            self.forget(partitions)

    def forget(self, partitions: list[TopicPartition]) -> None:
        """Commit nothing of these partitions: other members have them, and may have committed."""
        for one in self._printed.keys() & set(partitions):
            self._given_up[one] = self._printed.pop(one)

    def resume(self, partitions: list[TopicPartition]) -> None:
        """Print no record again of partitions that come back, unless the group is further."""
        back = self._given_up.keys() & set(partitions)
        committed = self._client.committed(back) if back else {}
        for one in back:
            at, of_group = self._given_up.pop(one), committed[one]
            if of_group is None or of_group.offset <= at:
                self._client.seek(one, at)
                self._printed[one] = at

    def _room(self) -> int:
        """Return how many records may be printed yet, at most a batch."""
        if self._wanted.count is None:
            return MOST_RECORDS
        return min(MOST_RECORDS, self._wanted.count - self._printer.count)

    def _patience(self) -> float:
        return IDLE_SECONDS if self._wanted.is_followed else CHECK_SECONDS

    def _assign(self) -> None:
        """Assign the partitions that have something to read, each at its start."""
        chosen = self._partitions()
        starts = self._client.beginning_offsets(chosen)
        ends = self._client.end_offsets(chosen)
        first = self._offsets(self._wanted.start, starts, ends)
        last = self._offsets(self._wanted.end or LATEST, starts, ends)
        if not self._wanted.is_followed:
            self._ends = {one: last[one] for one in chosen if first[one] < last[one]}
            chosen = list(self._ends)
        self._client.assign(chosen)
        for one in chosen:
            self._client.seek(one, first[one])

    def _offsets(
        self,
        moment: Moment,
        starts: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, int],
    ) -> dict[TopicPartition, int]:
        at_times: dict[TopicPartition, int | None] = {}
        if moment.time_ms is not None:
            found = self._client.offsets_for_times(dict.fromkeys(starts, moment.time_ms))
            at_times = {one: None if at is None else at.offset for one, at in found.items()}
        return {
            one: moment.resolve(start, ends[one], at_times.get(one))
            for one, start in starts.items()
        }

    def _partitions(self) -> list[TopicPartition]:
        topic, wanted = self._wanted.topic, self._wanted.partitions
        existing = partitions_of(self._client, topic)
        for partition in sorted(wanted - existing):
            raise CommandError(f"topic {topic!r} has no partition {partition}")
        return [TopicPartition(topic, number) for number in sorted(wanted or existing)]

    def _subscribe(self) -> None:
        """Join the group."""
        topic = self._wanted.topic
        partitions = [TopicPartition(topic, one) for one in partitions_of(self._client, topic)]
        if not self._wanted.is_followed:
            self._ends = self._client.end_offsets(partitions)
        self._client.subscribe([topic], listener=_HandOver(self))

    def _inside(self, records: ConsumerRecords[Any, Any]) -> Callable[[Any], bool] | None:
        """Return what tells the records before the end; None if all are."""
        ends = self._ends
        if all(at <= ends.get(one, at) for one, (at, _) in records.next_offsets().items()):
            return None
        return lambda record: record.offset < ends[TopicPartition(record.topic, record.partition)]

    def _note(self, records: ConsumerRecords[Any, Any]) -> None:
        """Note where partitions are, and pause those that are read to their end."""
        if records:
            found = {one: at for one, (at, _) in records.next_offsets().items()}
            self._printed |= {one: min(at, self._ends.get(one, at)) for one, at in found.items()}
        else:
            health = self._client.health().partitions
            found = {one: at.position for one, at in health.items() if at.position is not None}
        self._positions |= found
        done = [one for one in found if self._is_read(one)]
        if done:
            self._client.pause(*self._client.assignment().intersection(done))

    def _is_read(self, partition: TopicPartition) -> bool:
        end = self._ends.get(partition)
        return end is not None and self._positions.get(partition, -1) >= end

    def _is_finished(self) -> bool:
        if self._wanted.is_followed:
            return False
        if self._wanted.group is None:
            return all(map(self._is_read, self._ends))
        mine = self._client.assignment()
        if not mine:  # either it has not joined yet, or the others have all partitions
            return self._client.health().group_state == STABLE
        return all(map(self._is_read, mine))


class _HandOver(RebalanceListener):
    """Tells a run which partitions come, and go to other members."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
        self._reading.resume(partitions)

    def on_partitions_revoked(self, partitions: list[TopicPartition]) -> None:
        self._reading.hand_over(partitions)

    def on_partitions_lost(self, partitions: list[TopicPartition]) -> None:
        self._reading.forget(partitions)


def partitions_of(client: Consumer[Any, Any], topic: str) -> set[int]:
    """Return the partitions of a topic; the error of an unknown one suggests the nearest."""
    try:
        return client.partitions_for(topic, timeout=UNKNOWN_TOPIC_SECONDS)
    except KafkaTimeoutError as error:
        if not isinstance(error.__cause__, UnknownTopicOrPartitionError):
            raise
    with admin() as other:
        advice = did_you_mean(topic, other.list_topics(internal=True))
    raise CommandError(f"topic {topic!r} does not exist; {advice or 'see pyk topic list'}")
