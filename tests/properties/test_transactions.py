"""A log knows of every offset whether it is committed, aborted or open, whatever happens to it."""

from __future__ import annotations

from random import Random
from typing import NamedTuple
from uuid import UUID

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pyk.protocol.records import read_batches
from pyk.reference_broker.config import BrokerConfig, LogConfig
from pyk.reference_broker.storage import (
    InvalidProducerEpochError,
    InvalidTransactionStateError,
    LogManager,
    Task,
    TransactionMarker,
)
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import VirtualClock
from support.logs import ORDERS, batch

TOPIC_ID = UUID(int=1)
NOBODY = -1
PRODUCERS = st.sampled_from([1, 2, 3])
RAISES_EPOCHS = {1: False, 2: True, 3: True}
"""Which producers have transactions of version 2."""
FETCH_BYTES = 250
CONFIGS = st.builds(
    LogConfig,
    segment_bytes=st.sampled_from([300, 1000, 1 << 20]),
    index_interval_bytes=st.sampled_from([0, 100, 4096]),
    retention_ms=st.just(-1),
    retention_bytes=st.sampled_from([-1, 500]),
    flush_messages=st.sampled_from([1, 3, 1 << 60]),
)


class Entry(NamedTuple):
    """What the model knows of one offset."""

    producer_id: int = NOBODY
    epoch: int = -1
    value: bytes = b""
    commits: bool | None = None
    """Whether a marker commits; None for records."""


class TransactionsAgainstModel(RuleBasedStateMachine):
    """The model is the list of all offsets; outcomes follow from it alone."""

    @initialize(config=CONFIGS, page_bytes=st.sampled_from([64, 4096]))
    def begin(self, config: LogConfig, page_bytes: int) -> None:
        self.clock = VirtualClock()
        self.filesystem = MemoryFileSystem(self.clock.time_ms, page_bytes=page_bytes)
        self.config = config
        self.model: list[Entry] = []
        self.start = 0
        self.safe_up_to = 0
        self.open()

    def open(self) -> None:
        self.manager = LogManager.open(
            self.filesystem, "/data", BrokerConfig(), clock=self.clock, random=Random(1)
        )
        self.log = self.manager.get_or_create(ORDERS, self.config, TOPIC_ID)
        self.log.high_watermark = self.log.log_end_offset

    # What the model says

    def epoch_of(self, producer_id: int) -> int:
        """Return the epoch that a producer has: each marker of version 2 raises it."""
        return max((e.epoch for e in self.model if e.producer_id == producer_id), default=0)

    def transactions(self) -> list[tuple[list[int], int | None]]:
        """Return the offsets of the records of each transaction, and that of its marker."""
        found: list[tuple[list[int], int | None]] = []
        open_offsets: dict[int, list[int]] = {}
        for offset, entry in enumerate(self.model):
            if entry.producer_id == NOBODY:
                continue
            if entry.commits is None:
                open_offsets.setdefault(entry.producer_id, []).append(offset)
            elif entry.producer_id in open_offsets:
                found.append((open_offsets.pop(entry.producer_id), offset))
        return found + [(offsets, None) for offsets in open_offsets.values()]

    def is_open(self, producer_id: int) -> bool:
        """Return whether a producer has an open transaction with records that are still there."""
        return any(
            marker is None
            and self.model[offsets[0]].producer_id == producer_id
            and offsets[-1] >= self.log.log_start_offset
            for offsets, marker in self.transactions()
        )

    # What happens to the log

    def appended(self, entry: Entry, values: list[bytes], *, is_committed: bool = True) -> None:
        """Note what was appended; the high watermark follows if ``is_committed``."""
        self.model += [entry._replace(value=value) for value in values]
        assert self.log.log_end_offset == len(self.model)
        if is_committed:
            self.log.high_watermark = self.log.log_end_offset

    @rule(values=st.lists(st.binary(max_size=30), min_size=1, max_size=3))
    def append_without_a_transaction(self, values: list[bytes]) -> None:
        self.log.append_as_leader(batch(*values), leader_epoch=0)
        self.appended(Entry(), values)

    @rule(producer_id=PRODUCERS, values=st.lists(st.binary(max_size=30), min_size=1, max_size=3))
    def append_in_a_transaction(self, producer_id: int, values: list[bytes]) -> None:
        epoch = self.epoch_of(producer_id)
        self.log.append_as_leader(self.sent(producer_id, epoch, values), leader_epoch=0)
        self.appended(Entry(producer_id, epoch), values)

    def sent(
        self, producer_id: int, epoch: int, values: list[bytes], *, is_transactional: bool = True
    ) -> bytes:
        known = self.log.producers.get(producer_id)
        is_next = known is not None and known.epoch == epoch
        return batch(
            *values,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=known.last_sequence + 1 if known is not None and is_next else 0,
            is_transactional=is_transactional,
        )

    @rule(producer_id=PRODUCERS, commit=st.booleans(), is_committed=st.booleans())
    def end(self, producer_id: int, commit: bool, is_committed: bool) -> None:
        raises_epoch = RAISES_EPOCHS[producer_id]
        epoch = self.epoch_of(producer_id) + raises_epoch
        marker = TransactionMarker(producer_id, epoch, 0, commit)
        self.log.end_transaction(marker, 0, 2 if raises_epoch else 1)
        marked = Entry(producer_id, epoch, commits=commit)
        self.appended(marked, [b""], is_committed=is_committed)

    @rule(producer_id=PRODUCERS, commit=st.booleans())
    def refuse_a_late_marker(self, producer_id: int, commit: bool) -> None:
        known = self.log.producers.get(producer_id)
        if known is None or known.epoch == 0:
            return
        marker = TransactionMarker(producer_id, known.epoch - 1, 0, commit)
        with pytest.raises(InvalidProducerEpochError):
            self.log.end_transaction(marker, 0, 1)

    @rule(producer_id=PRODUCERS)
    def refuse_a_record_outside_of_an_open_transaction(self, producer_id: int) -> None:
        if not self.is_open(producer_id):
            return
        epoch = self.epoch_of(producer_id)
        outside = self.sent(producer_id, epoch, [b"x"], is_transactional=False)
        with pytest.raises(InvalidTransactionStateError):
            self.log.append_as_leader(outside, leader_epoch=0)

    @rule()
    def move_high_watermark(self) -> None:
        self.log.high_watermark = self.log.log_end_offset

    @rule()
    def roll(self) -> None:
        self.log.roll()

    @rule()
    def flush(self) -> None:
        self.log.flusher.flush_now()
        self.manager.perform(Task.CHECKPOINT_RECOVERY_POINTS)
        self.safe_up_to = len(self.model)

    @rule()
    def expire_producers(self) -> None:
        """Only producers without an open transaction may be forgotten."""
        self.log.producers.expire(self.clock.time_ms() + (1 << 50), expiration_ms=1)

    @rule(data=st.data())
    def delete_records(self, data: st.DataObject) -> None:
        self.start = data.draw(st.integers(self.start, self.log.high_watermark))
        self.log.advance_log_start_offset(self.start)
        self.manager.perform(Task.CHECKPOINT_LOG_START_OFFSETS)

    @rule()
    def delete_old_segments(self) -> None:
        self.log.delete_old_segments(self.clock.time_ms())
        self.start = self.log.log_start_offset
        self.manager.perform(Task.REMOVE_DELETED_FILES)

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        """Truncate at the boundary of a batch, as followers do."""
        stored = list(read_batches(self.log.reader.read(self.start, 1 << 20).read()))
        ends = [each.next_offset for each in stored if each.base_offset >= self.start]
        if ends:
            end = data.draw(st.sampled_from(ends))
            self.log.truncate_to(end)
            del self.model[end:]
            self.safe_up_to = min(self.safe_up_to, end)

    @rule()
    def close_and_open(self) -> None:
        self.manager.close()
        self.safe_up_to = len(self.model)
        self.open()
        assert self.log.log_end_offset == len(self.model)

    @rule()
    def kill_and_open(self) -> None:
        self.filesystem.crash(loses_unflushed=False)
        self.open()
        assert self.log.log_end_offset == len(self.model)

    @rule(seed=st.none() | st.integers(0, 1 << 32))
    def lose_power_and_open(self, seed: int | None) -> None:
        """Lose power: of what was not flushed nothing is left, or any of the pages."""
        random = None if seed is None else Random(seed)
        self.filesystem.crash(loses_unflushed=True, random=random)
        self.open()
        assert self.safe_up_to <= self.log.log_end_offset <= max(len(self.model), self.start)
        self.start = self.log.log_start_offset
        del self.model[self.log.log_end_offset :]
        self.model += [Entry()] * (self.log.log_end_offset - len(self.model))

    # What must hold

    @invariant()
    def last_stable_offset_is_where_the_oldest_unstable_transaction_begins(self) -> None:
        """What deletion took of a transaction may be remembered, or not."""
        log = self.log
        unstable = [
            offsets
            for offsets, marker in self.transactions()
            if marker is None or marker >= log.high_watermark
        ]
        remaining = [o for offsets in unstable for o in offsets if o >= log.log_start_offset]
        first = min((offsets[0] for offsets in unstable), default=log.high_watermark)
        lowest = min(log.high_watermark, max(log.log_start_offset, first))
        highest = min([log.high_watermark, *remaining])
        assert lowest <= log.last_stable_offset <= highest

    @invariant()
    def readers_of_committed_records_get_those_and_no_others(self) -> None:
        committed = {o for offsets, m in self.transactions() for o in offsets if self.commits(m)}
        up_to = self.log.last_stable_offset
        expected = [
            (offset, entry.value)
            for offset, entry in enumerate(self.model[:up_to])
            if offset >= self.log.log_start_offset
            and entry.commits is None
            and (entry.producer_id == NOBODY or offset in committed)
        ]
        assert self.read_committed() == expected

    def commits(self, marker: int | None) -> bool:
        return marker is not None and self.model[marker].commits is True

    def read_committed(self) -> list[tuple[int, bytes]]:
        """Read fetch by fetch, and leave out what each fetch says was aborted."""
        found = []
        offset, up_to = self.log.log_start_offset, self.log.last_stable_offset
        while (records := self.log.reader.read(offset, FETCH_BYTES, up_to)).size:
            told = self.log.reader.aborted_transactions(offset, records, up_to)
            first_offset = offset
            for each in read_batches(records.read()):
                offset = max(offset, each.next_offset)
                is_aborted = any(
                    aborted.producer_id == each.producer_id
                    and aborted.first_offset <= each.base_offset < aborted.last_offset
                    for aborted in told
                )
                if not (each.is_control or is_aborted):
                    found += [(r.offset, r.value or b"") for r in each if r.offset >= first_offset]
        return found


TestTransactionsAgainstModel = TransactionsAgainstModel.TestCase
TestTransactionsAgainstModel.settings = settings(max_examples=150, stateful_step_count=30)
