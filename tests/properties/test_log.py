"""A log holds the same values as a list after every kind of stop."""

from __future__ import annotations

from random import Random
from typing import Any
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pyk.protocol.records import Compression, read_batches
from pyk.reference_broker.config import BrokerConfig, LogConfig
from pyk.reference_broker.storage import LogError, LogManager, OutOfOrderSequenceError, Task
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import START_MS, VirtualClock
from support.logs import DIRECTORY, ORDERS, append, batch, open_log, values

TOPIC_ID = UUID(int=1)
PRODUCER = 7
CONFIGS = st.builds(
    LogConfig,
    segment_bytes=st.sampled_from([300, 1000, 1 << 20]),
    segment_ms=st.sampled_from([5, 1 << 40]),
    segment_index_bytes=st.sampled_from([24, 1 << 20]),
    index_interval_bytes=st.sampled_from([0, 100, 4096]),
    retention_ms=st.just(-1),
    retention_bytes=st.sampled_from([-1, 500]),
    preallocate=st.booleans(),
    flush_messages=st.sampled_from([1, 3, 1 << 60]),
)
VALUES = st.lists(st.binary(max_size=30), min_size=1, max_size=5)


class LogAgainstList(RuleBasedStateMachine):
    """The list holds all appended values; ``start`` is the first offset that can still be read."""

    @initialize(config=CONFIGS, page_bytes=st.sampled_from([64, 4096]))
    def begin(self, config: LogConfig, page_bytes: int) -> None:
        self.clock = VirtualClock()
        self.filesystem = MemoryFileSystem(self.clock.time_ms, page_bytes=page_bytes)
        self.config = config
        self.list: list[bytes] = []
        self.start = 0
        self.safe_up_to = 0
        self.next_sequence = 0
        self.last_sent: bytes | None = None
        self.open()

    def open(self) -> None:
        self.manager = LogManager.open(
            self.filesystem, "/data", BrokerConfig(), clock=self.clock, random=Random(1)
        )
        self.log = self.manager.get_or_create(ORDERS, self.config, TOPIC_ID)
        self.log.high_watermark = self.log.log_end_offset

    @rule(sent=VALUES, compression=st.sampled_from(list(Compression)), step=st.integers(0, 3))
    def append(self, sent: list[bytes], compression: Compression, step: int) -> None:
        self.clock.advance(step / 1000)
        offset = append(self.log, *sent, compression=compression, timestamp_ms=self.clock.time_ms())
        assert offset == len(self.list)
        self.list += sent

    @rule(sent=VALUES)
    def append_idempotently(self, sent: list[bytes]) -> None:
        data = batch(
            *sent, producer_id=PRODUCER, producer_epoch=0, base_sequence=self.next_sequence
        )
        result = self.log.append_as_leader(data, leader_epoch=0)
        self.log.high_watermark = self.log.log_end_offset
        assert result.base_offset == len(self.list)
        self.list += sent
        self.next_sequence += len(sent)
        self.last_sent = data

    @precondition(lambda self: self.last_sent is not None)
    @rule()
    def retry(self) -> None:
        assert self.last_sent is not None
        result = self.log.append_as_leader(self.last_sent, leader_epoch=0)
        assert result.is_duplicate
        assert self.log.log_end_offset == len(self.list)

    @rule()
    def roll(self) -> None:
        self.log.roll()

    @rule()
    def flush(self) -> None:
        self.manager.perform(Task.FLUSH)
        self.log.flusher.flush_now()
        self.manager.perform(Task.CHECKPOINT_RECOVERY_POINTS)
        self.safe_up_to = len(self.list)

    @rule(data=st.data())
    def delete_records(self, data: st.DataObject) -> None:
        self.start = data.draw(st.integers(self.start, len(self.list)))
        self.log.advance_log_start_offset(self.start)
        self.manager.perform(Task.CHECKPOINT_LOG_START_OFFSETS)

    @rule()
    def delete_old_segments(self) -> None:
        self.log.delete_old_segments(self.clock.time_ms())
        assert self.log.log_start_offset >= self.start
        self.start = self.log.log_start_offset
        self.manager.perform(Task.REMOVE_DELETED_FILES)

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        """Truncate at the boundary of a batch, as followers do."""
        stored = list(read_batches(self.log.reader.read(self.start, 1 << 20).read()))
        ends = [each.next_offset for each in stored if each.base_offset >= self.start]
        if not ends:
            return
        end = data.draw(st.sampled_from(ends))
        self.log.truncate_to(end)
        del self.list[end:]
        self.safe_up_to = min(self.safe_up_to, end)
        self.forget_producer()

    @rule()
    def close_and_open(self) -> None:
        self.manager.close()
        self.safe_up_to = len(self.list)
        self.open()
        assert self.log.log_end_offset == len(self.list)
        self.find_producer()

    @rule()
    def kill_and_open(self) -> None:
        self.filesystem.crash(loses_unflushed=False)
        self.open()
        assert self.log.log_end_offset == len(self.list)
        self.find_producer()

    @rule()
    def lose_power_and_open(self) -> None:
        self.filesystem.crash(loses_unflushed=True)
        self.open_after_power_loss()

    @rule(seed=st.integers(0, 1 << 32))
    def lose_power_and_some_writes_and_open(self, seed: int) -> None:
        """Lose power when any of the pages that were not flushed may be on the disk."""
        self.filesystem.crash(loses_unflushed=True, random=Random(seed))
        self.open_after_power_loss()

    def open_after_power_loss(self) -> None:
        """Open the log, and check that it lost no flushed record."""
        self.open()
        assert self.safe_up_to <= self.log.log_end_offset <= max(len(self.list), self.start)
        assert self.log.log_start_offset <= max(self.start, self.safe_up_to)
        self.start = self.log.log_start_offset
        # The remaining values are those that were written, from the start and without a gap.
        del self.list[self.log.log_end_offset :]
        self.list += [b""] * (self.log.log_end_offset - len(self.list))
        self.forget_producer()

    def find_producer(self) -> None:
        """Check that the log still knows the producer, unless its records were deleted."""
        entry = self.log.producers.get(PRODUCER)
        if entry is not None:
            assert entry.last_sequence + 1 == self.next_sequence
        else:
            assert self.last_sent is None or self.start > 0
            self.forget_producer()

    def forget_producer(self) -> None:
        """Continue with the sequence number that the log has for the producer."""
        entry = self.log.producers.get(PRODUCER)
        self.next_sequence = entry.last_sequence + 1 if entry is not None else 0
        self.last_sent = None

    @invariant()
    def log_holds_what_the_list_holds(self) -> None:
        assert self.log.log_end_offset == len(self.list)
        assert values(self.log, max_bytes=150) == self.list[self.log.log_start_offset :]

    @invariant()
    def gap_in_the_sequence_is_refused(self) -> None:
        if self.last_sent is None:
            return
        sequence = self.next_sequence + 1
        gap = batch(b"x", producer_id=PRODUCER, producer_epoch=0, base_sequence=sequence)
        try:
            self.log.append_as_leader(gap, leader_epoch=0)
        except OutOfOrderSequenceError:
            return
        raise AssertionError("a gap was accepted")


TestLogAgainstList = LogAgainstList.TestCase
TestLogAgainstList.settings = settings(max_examples=150, stateful_step_count=30)


def filled(filesystem: Any, batches: list[list[bytes]], **config: Any) -> list[tuple[int, int]]:
    """Append all batches, then crash; return (size, end offset) of the log after each."""
    log = open_log(filesystem, **config)
    places = [(0, 0)]
    for sent in batches:
        append(log, *sent)
        places.append((log.segments.size, log.log_end_offset))
    return places


@given(batches=st.lists(VALUES, min_size=1, max_size=8), data=st.data())
def test_a_log_truncated_at_any_byte_keeps_every_batch_before_it(batches, data):
    filesystem = MemoryFileSystem()
    places = filled(filesystem, batches)
    cut = data.draw(st.integers(0, places[-1][0]))
    filesystem.open(f"{DIRECTORY}/{0:020d}.log").truncate(cut)

    log = open_log(filesystem)

    assert log.log_end_offset == max(end for size, end in places if size <= cut)
    assert values(log) == [value for sent in batches for value in sent][: log.log_end_offset]
    append(log, b"goes on")
    assert values(log)[-1] == b"goes on"


@given(batches=st.lists(VALUES, min_size=1, max_size=8), data=st.data())
def test_a_log_with_any_byte_changed_keeps_every_batch_before_it(batches, data):
    filesystem = MemoryFileSystem()
    places = filled(filesystem, batches)
    position = data.draw(st.integers(0, places[-1][0] - 1))
    file = filesystem.open(f"{DIRECTORY}/{0:020d}.log")
    before = file.read_at(position, 1)[0]
    after = data.draw(st.integers(0, 255).filter(lambda byte: byte != before))
    file.write_at(position, [bytes([after])])

    log = open_log(filesystem)

    sound = max(end for size, end in places if size <= position)
    assert log.log_end_offset >= sound
    everything = [value for sent in batches for value in sent]
    assert values(log, 0)[:sound] == everything[:sound]


@given(
    batches=st.lists(VALUES, min_size=2, max_size=8),
    torn=st.integers(0, 7),
    bytes_before=st.integers(0, 200),
    is_killed=st.booleans(),
)
def test_a_torn_write_loses_only_records_that_were_not_acknowledged(
    batches, torn, bytes_before, is_killed
):
    memory = MemoryFileSystem()
    filesystem = FaultyFileSystem(memory)
    log = open_log(filesystem, segment_bytes=400)
    acknowledged: list[bytes] = []
    for number, sent in enumerate(batches):
        if number == torn:
            filesystem.on("write", "*.log").once().tear(bytes_before)
            filesystem.on("truncate", "*.log").once().fail()
        try:
            append(log, *sent)
        except LogError:
            assert values(log) == acknowledged
        else:
            acknowledged += sent
    if is_killed:
        filesystem.heal()
        memory.crash(loses_unflushed=False)
        log = open_log(filesystem, segment_bytes=400)
        # A batch that was written completely may be there although it was not acknowledged.
        assert values(log)[: len(acknowledged)] == acknowledged
    else:
        assert values(log) == acknowledged


@given(
    timestamps=st.lists(st.integers(0, 50), min_size=1, max_size=30),
    asked=st.integers(-1, 51),
    segment_bytes=st.sampled_from([200, 1 << 20]),
)
def test_find_timestamp_finds_the_first_record_that_is_not_older(timestamps, asked, segment_bytes):
    log = open_log(segment_bytes=segment_bytes, index_interval_bytes=0)
    for timestamp in timestamps:
        append(log, b"x", timestamp_ms=START_MS + timestamp)

    found = log.reader.find_timestamp(START_MS + asked)
    newest = log.reader.find_newest_record()

    expected = [offset for offset, timestamp in enumerate(timestamps) if timestamp >= asked]
    assert (found.offset if found else None) == (expected[0] if expected else None)
    assert newest is not None
    assert newest[:2] == (timestamps.index(max(timestamps)), START_MS + max(timestamps))
