"""Laws of planning: every offset is read once, and a stream always advances."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pyk.clients.topic_partition import TopicPartition
from pyk.spark_connector.offsets import StreamOffset
from pyk.spark_connector.planning import Admission, OffsetRange, plan_ranges, plan_tasks

PARTITIONS = st.builds(TopicPartition, st.sampled_from(["a", "b", "0"]), st.integers(0, 12))
OFFSETS = st.dictionaries(PARTITIONS, st.integers(0, 2**62), max_size=8)
RANGES = st.dictionaries(
    st.integers(0, 9), st.tuples(st.integers(0, 10**6), st.integers(1, 5000)), max_size=8
).map(
    lambda sizes: [
        OffsetRange("a", number, first, first + size) for number, (first, size) in sizes.items()
    ]
)
LIMITS = st.none() | st.integers(1, 3000)


@given(OFFSETS, st.none() | OFFSETS, st.dictionaries(st.sampled_from("ab0"), st.uuids().map(str)))
def test_offsets_of_a_checkpoint_are_read_as_they_were_written(
    offsets: dict[TopicPartition, int],
    start: dict[TopicPartition, int] | None,
    topic_ids: dict[str, str],
) -> None:
    offset = StreamOffset(offsets, start, topic_ids)

    assert StreamOffset.from_json(offset.to_json()) == offset


@given(RANGES, st.none() | st.integers(1, 40), LIMITS, st.integers(1, 3000), st.integers(1, 9))
def test_tasks_cover_every_offset_once(
    ranges: list[OffsetRange],
    min_tasks: int | None,
    max_records: int | None,
    min_records: int,
    parallelism: int,
) -> None:
    tasks = plan_tasks(
        ranges,
        min_tasks=min_tasks,
        max_records=max_records,
        min_records=min_records,
        parallelism=parallelism,
    )

    pieces = sorted(piece for task in tasks for piece in task)
    assert all(piece.size > 0 for piece in pieces)
    assert max_records is None or all(
        sum(one.size for one in task) <= max_records for task in tasks
    )
    assert len(tasks) >= min(len(ranges), parallelism)
    joined: list[OffsetRange] = []
    for piece in pieces:
        if joined and joined[-1].topic_partition == piece.topic_partition:
            assert joined[-1].end == piece.start
            joined[-1] = joined[-1]._replace(end=piece.end)
        else:
            joined.append(piece)
    assert joined == sorted(ranges)


@given(OFFSETS, OFFSETS, st.integers(1, 10**6))
def test_a_limited_batch_advances_and_never_passes_the_end(
    start: dict[TopicPartition, int], ahead: dict[TopicPartition, int], most: int
) -> None:
    latest = {partition: start.get(partition, 0) + more for partition, more in ahead.items()}
    log_start = dict.fromkeys(latest, 0)

    end = Admission(max_offsets=most).admit(0, start, latest, log_start)

    ranges = plan_ranges(start, end, log_start).ranges
    taken = sum(one.size for one in ranges)
    assert end.keys() == latest.keys()
    assert all(start.get(one, 0) <= end[one] <= latest[one] for one in latest)
    assert taken <= most + len(latest)
    assert (taken > 0) == any(ahead.values())
