"""Random sequences of faults of a node: acknowledged records survive every stop that they must.

A kill loses nothing. A power cut loses nothing of a topic with ``flush.messages=1``, and of others
only records at the end. Topics come and go under the same names, records are deleted by clients and
by retention, and are found by their time.
"""

from __future__ import annotations

import asyncio
from random import Random

import attrs
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.coordinator.group.offsets import OffsetToCommit
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import current_clock, run_virtual
from support.logs import batch, values
from support.nodes import Node

NAMES = ("one", "two")
RETENTION_MS = 300_000
STEPS = (
    *["append"] * 6,
    *["create"] * 3,
    *["wait"] * 2,
    *["commit"] * 2,
    "delete",
    "delete records",
    "kill",
    "cut power",
    "stop",
    "stop and cut power",
)
# After a kill a segment is read through, and its indexes may become others than those on the disk.
INDEXES_REBUILT_AFTER_A_KILL = (
    *("create", "append", "append", "create", "append", "append", "append", "append", "append"),
    *("kill", "append", "stop", "kill", "append", "stop and cut power"),
)


@attrs.define(kw_only=True)
class Expected:
    """What a topic must hold: the value and time of each offset from ``start`` on."""

    is_flushed: bool
    start: int = 0
    records: list[tuple[bytes, int]] = attrs.Factory(list)
    committed: int | None = None


class Life:
    """A node, the expected content of its topics, and the faults that can happen."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.clock = current_clock()
        self.memory = MemoryFileSystem(self.clock.time_ms, page_bytes=512)
        self.topics: dict[str, Expected] = {}

    async def begin(self) -> None:
        self.node = await Node(self.memory, random=self.random).start()
        if not self.node.image.topics:
            await self.node.create_groups_topic()
        await asyncio.sleep(0.1)

    async def step(self, what: str) -> None:
        name = self.random.choice(NAMES)
        topic = self.topics.get(name)
        if what == "create" and topic is None:
            await self.create(name)
        elif what == "wait":
            await asyncio.sleep(self.random.choice([1, 12, 61, 400]))
        elif what in ("kill", "cut power", "stop", "stop and cut power"):
            await self.restart(what)
        elif topic is not None:
            self.change(what, name, topic)

    async def create(self, name: str) -> None:
        topic = Expected(is_flushed=self.random.random() < 0.5)
        configs = {
            "internal.segment.bytes": str(self.random.choice([700, 3000, 100_000])),
            "segment.ms": "60000",
            "retention.ms": str(self.random.choice([RETENTION_MS, -1])),
        }
        if topic.is_flushed:
            configs["flush.messages"] = "1"
        assert await self.node.create(name, **configs) is ErrorCode.NONE
        self.topics[name] = topic

    def change(self, what: str, name: str, topic: Expected) -> None:
        partition = self.node.partition(name, 0)
        if what == "append":
            for _ in range(self.random.choice([1, 3, 20])):
                value = b"%s %d %d" % (name.encode(), len(topic.records), self.clock.time_ms())
                value += b"x" * self.random.choice([1, 100, 500])
                partition.append(batch(value, timestamp_ms=self.clock.time_ms()))
                assert partition.high_watermark == partition.log_end_offset
                topic.records.append((value, self.clock.time_ms()))
        elif what == "delete":
            assert self.node.delete(name) == ErrorCode.NONE
            del self.topics[name]
        elif what == "delete records":
            end = len(topic.records)
            topic.start = partition.delete_records(
                self.random.randint(partition.log_start_offset, end)
            )
        elif what == "commit":
            end = len(topic.records)
            commit = OffsetToCommit(topic=name, partition=0, offset=end)
            if self.node.commit([commit]) == ErrorCode.NONE:
                topic.committed = end

    async def restart(self, how: str) -> None:
        starts = {
            name: self.node.partition(name, 0).log_start_offset
            for name in NAMES
            if name in self.topics
        }
        await (self.node.broker.stop() if how.startswith("stop") else self.node.broker.kill())
        keeps_some = self.random if self.random.random() < 0.7 else None
        self.memory.crash(loses_unflushed=how.endswith("cut power"), random=keeps_some)
        await self.begin()
        is_lossy = how == "cut power"
        assert {name for name in self.node.image.topics if name in NAMES} == self.topics.keys()
        for name, topic in self.topics.items():
            self.check(name, topic, starts[name], is_lossy=is_lossy)

    def check(self, name: str, topic: Expected, start_before: int, *, is_lossy: bool) -> None:
        partition = self.node.partition(name, 0)
        start, end = partition.log_start_offset, partition.log_end_offset
        assert start <= start_before
        if not is_lossy or topic.is_flushed:
            assert end == len(topic.records)
        assert end <= max(len(topic.records), start)
        del topic.records[end:]
        topic.records += [(b"", 0)] * (end - len(topic.records))
        assert values(partition.log) == [value for value, _ in topic.records[start:]]
        self.check_times(partition, topic, start)
        committed = self.node.committed(name)
        if is_lossy:
            assert committed in (None, *range((topic.committed or 0) + 1))
            topic.committed = committed
        else:
            assert committed == topic.committed

    def check_times(self, partition, topic: Expected, start: int) -> None:
        for _, timestamp in topic.records[start:]:
            found = partition.reader.list_offset(timestamp)
            first = next(
                o for o in range(start, len(topic.records)) if topic.records[o][1] >= timestamp
            )
            assert found is not None
            assert (found.offset, found.timestamp) == (first, topic.records[first][1])

    def check_retention(self) -> None:
        """Nothing that is younger than its retention is gone, unless a client deleted it."""
        for name, topic in self.topics.items():
            start = self.node.partition(name, 0).log_start_offset
            for _, timestamp in topic.records[topic.start : start]:
                assert self.clock.time_ms() - timestamp > RETENTION_MS


@settings(max_examples=40)
@given(
    seed=st.integers(0, 1 << 32), steps=st.lists(st.sampled_from(STEPS), min_size=10, max_size=60)
)
@example(0, INDEXES_REBUILT_AFTER_A_KILL)
def test_a_node_keeps_acknowledged_records_through_any_sequence_of_faults(seed, steps):
    async def scenario() -> None:
        life = Life(seed)
        await life.begin()
        for what in [*steps, "kill"]:
            await life.step(what)
            life.check_retention()
        await life.node.broker.kill()

    run_virtual(scenario())
