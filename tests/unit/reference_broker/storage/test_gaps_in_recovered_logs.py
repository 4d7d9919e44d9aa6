"""Which gaps between offsets a log keeps when it is recovered after a crash."""

from __future__ import annotations

import pytest

from pyk.runtime.filesystem.memory import MemoryFileSystem
from support.logs import DIRECTORY, append, batch, filled_log, numbered, open_log, overwrite, values

LOG = f"{DIRECTORY}/{0:020d}.log"
INDEX = f"{DIRECTORY}/{0:020d}.index"
TIME_INDEX = f"{DIRECTORY}/{0:020d}.timeindex"


@pytest.fixture
def filesystem() -> MemoryFileSystem:
    filesystem = MemoryFileSystem()
    filesystem.make_directory("/data")
    filesystem.sync_directory("/")
    return filesystem


def test_gap_between_segments_that_a_power_failure_left_ends_the_log(filesystem):
    filled_log(filesystem, count=6, segment_bytes=200)
    filesystem.remove(f"{DIRECTORY}/{2:020d}.log")

    log = open_log(filesystem, segment_bytes=200)

    assert log.segments.base_offsets == [0]
    assert values(log) == numbered(2)
    assert append(log, b"2") == 2


def test_gap_where_the_end_of_a_segment_is_lost_ends_the_log(filesystem):
    filled_log(filesystem, count=6, segment_bytes=200)
    filesystem.open(LOG).truncate(len(batch(b"0")))

    log = open_log(filesystem, segment_bytes=200)

    assert values(log) == numbered(1)


def remove_batches(filesystem, path, first, last):
    """Remove batches of a segment by their numbers, as compaction does, and its indexes."""
    size = len(batch(b"0"))
    data = filesystem.open(path).read_at(0, filesystem.size(path))
    left = data[: first * size] + data[(last + 1) * size :]
    overwrite(filesystem, path, 0, left)
    filesystem.open(path).truncate(len(left))


@pytest.mark.parametrize("cleanup_policy", [("compact",), ("delete",)])
@pytest.mark.parametrize(("first", "last"), [(0, 1), (2, 3)])
def test_gap_inside_a_segment_stays(filesystem, cleanup_policy, first, last):
    filled_log(filesystem, count=6)
    remove_batches(filesystem, LOG, first, last)

    log = open_log(filesystem, cleanup_policy=cleanup_policy)

    assert values(log) == [b"%d" % each for each in range(6) if not first <= each <= last]
    assert append(log, b"6") == 6


@pytest.mark.parametrize("damaged", [2, 3])
def test_damage_that_a_power_failure_left_before_sound_batches_ends_the_log(filesystem, damaged):
    filled_log(filesystem, count=6)
    size = len(batch(b"0"))
    overwrite(filesystem, LOG, damaged * size, bytes(size))

    assert values(open_log(filesystem)) == numbered(damaged)


@pytest.mark.parametrize(
    ("cleanup_policy", "recovery_point", "is_kept"),
    [(("compact",), 0, True), (("delete",), 2, True), (("delete",), 1, False)],
)
def test_gap_between_segments_stays_where_nothing_can_be_lost(
    filesystem, cleanup_policy, recovery_point, is_kept
):
    filled_log(filesystem, count=6, segment_bytes=200)
    remove_batches(filesystem, LOG, 1, 1)

    log = open_log(
        filesystem,
        segment_bytes=200,
        cleanup_policy=cleanup_policy,
        recovery_point=recovery_point,
    )

    assert values(log) == ([b"0", *numbered(6)[2:]] if is_kept else [b"0"])


def test_gap_between_segments_stays_if_one_inside_a_later_segment_tells_of_compaction(filesystem):
    filled_log(filesystem, count=8, segment_bytes=200)
    filesystem.remove(f"{DIRECTORY}/{2:020d}.log")
    remove_batches(filesystem, f"{DIRECTORY}/{6:020d}.log", 0, 0)

    log = open_log(filesystem, segment_bytes=200)

    assert values(log) == [b"0", b"1", b"4", b"5", b"7"]


def test_gap_between_segments_after_the_last_that_was_compacted_ends_the_log(filesystem):
    filled_log(filesystem, count=8, segment_bytes=200)
    remove_batches(filesystem, LOG, 0, 0)
    filesystem.remove(f"{DIRECTORY}/{4:020d}.log")

    log = open_log(filesystem, segment_bytes=200)

    assert values(log) == [b"1", b"2", b"3"]
