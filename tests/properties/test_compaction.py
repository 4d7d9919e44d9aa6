"""A compacted log tells readers the same in the end, after every kind of pass, stop and crash."""

from __future__ import annotations

from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pyk.runtime.filesystem.memory import MemoryFileSystem
from support.compaction import CompactedLog
from support.logs import end_transaction

KEYS = st.sampled_from([b"a", b"b", b"c", b"d" * 40])
PAIRS = st.lists(
    st.tuples(KEYS, st.one_of(st.none(), st.binary(min_size=1, max_size=40))),
    min_size=1,
    max_size=4,
)
WRITER, TRANSACTIONAL = 7, 8


class CompactedLogAgainstDict(RuleBasedStateMachine):
    """``known`` is what a reader of all committed records knows; ``written`` all that it may see.

    ``follower`` has read up to some offset, and reads on from there.
    """

    @initialize(
        segment=st.sampled_from(["450", "900"]),
        retention=st.sampled_from(["0", "60000"]),
        ratio=st.sampled_from(["0", "0.5"]),
    )
    def begin(self, segment: str, retention: str, ratio: str) -> None:
        self.config = {
            "internal_segment_bytes": segment,
            "delete_retention_ms": retention,
            "min_cleanable_dirty_ratio": ratio,
        }
        self.retention_s = int(retention) / 1000
        self.log = CompactedLog(MemoryFileSystem(), **self.config)
        self.known: dict[bytes, bytes] = {}
        self.written: dict[int, tuple[bytes, bytes | None]] = {}
        self.next_sequence = {WRITER: 0, TRANSACTIONAL: 0}
        self.follower: dict[bytes, bytes] = {}
        self.followed_to = 0
        self.followed_at = 0.0

    def append(self, pairs: list[tuple[bytes, bytes | None]], producer_id: int) -> None:
        base_offset = self.log.log.log_end_offset
        sequence = self.next_sequence[producer_id]
        self.log.append(
            *pairs,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=producer_id == TRANSACTIONAL,
        )
        self.next_sequence[producer_id] = sequence + len(pairs)
        self.written |= dict(enumerate(pairs, base_offset))

    def apply(self, pairs: list[tuple[bytes, bytes | None]]) -> None:
        for key, value in pairs:
            _note(self.known, key, value)

    @rule(pairs=PAIRS)
    def write(self, pairs: list[tuple[bytes, bytes | None]]) -> None:
        self.append(pairs, WRITER)
        self.apply(pairs)

    @rule(pairs=PAIRS, more=PAIRS, commits=st.booleans(), rolls=st.booleans())
    def write_in_transaction(
        self,
        pairs: list[tuple[bytes, bytes | None]],
        more: list[tuple[bytes, bytes | None]],
        commits: bool,
        rolls: bool,
    ) -> None:
        self.append(pairs, TRANSACTIONAL)
        if rolls:
            self.log.roll()
            self.log.compact()
        self.append(more, TRANSACTIONAL)
        end_transaction(self.log.log, commit=commits, producer_id=TRANSACTIONAL)
        if commits:
            self.apply(pairs + more)

    @rule()
    def roll(self) -> None:
        self.log.roll()

    @rule(seconds=st.sampled_from([1, 30, 61]))
    def wait(self, seconds: int) -> None:
        self.log.clock.advance(seconds)

    @rule()
    def compact(self) -> None:
        self.log.compact()

    @rule(is_killed=st.booleans())
    def restart(self, is_killed: bool) -> None:
        if is_killed:
            self.log.filesystem.crash(loses_unflushed=False)
        else:
            self.log.manager.close()
        self.log = CompactedLog(self.log.filesystem, clock=self.log.clock, **self.config)

    @rule(seed=st.integers(0, 9))
    def cut_power(self, seed: int) -> None:
        self.log.log.flusher.flush_now()
        self.log.filesystem.crash(loses_unflushed=True, random=Random(seed))
        self.log = CompactedLog(self.log.filesystem, clock=self.log.clock, **self.config)

    @rule()
    def follow(self) -> None:
        """Read on; a reader that was away for longer than tombstones stay begins again."""
        if self.log.clock.now() - self.followed_at > self.retention_s:
            self.follower, self.followed_to = {}, 0
        for offset, key, value in self.committed_records():
            if offset >= self.followed_to:
                _note(self.follower, key, value)
        self.followed_to = self.log.log.log_end_offset
        self.followed_at = self.log.clock.now()
        assert self.follower == self.known

    def committed_records(self) -> list[tuple[int, bytes, bytes | None]]:
        aborted = {
            (each.producer_id, offset)
            for segment in self.log.log.segments
            for each in segment.indexes.transactions.overlapping(0, 1 << 62)[0]
            for offset in range(each.first_offset, each.last_offset)
        }
        return [
            (record.offset, record.key or b"", record.value)
            for batch in self.log.batches()
            if not batch.is_control
            for record in batch
            if not (batch.is_transactional and (batch.producer_id, record.offset) in aborted)
        ]

    @invariant()
    def readers_know_the_same_in_the_end(self) -> None:
        known: dict[bytes, bytes] = {}
        records = self.committed_records()
        for offset, key, value in records:
            assert self.written[offset] == (key, value)
            _note(known, key, value)
        assert known == self.known
        offsets = [offset for offset, _, _ in records]
        assert offsets == sorted(set(offsets))


def _note(known: dict[bytes, bytes], key: bytes, value: bytes | None) -> None:
    if value is None:
        known.pop(key, None)
    else:
        known[key] = value


TestCompactedLogAgainstDict = CompactedLogAgainstDict.TestCase
TestCompactedLogAgainstDict.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None
)
