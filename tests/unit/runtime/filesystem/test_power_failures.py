"""What a disk in memory holds after one power failure, and after another."""

from __future__ import annotations

from random import Random

import pytest

from pyk.runtime.filesystem import read_if_exists
from pyk.runtime.filesystem.interface import File
from pyk.runtime.filesystem.memory import MemoryFileSystem


@pytest.fixture
def filesystem() -> MemoryFileSystem:
    return MemoryFileSystem(page_bytes=4)


def flushed(filesystem: MemoryFileSystem, path: str, content: bytes) -> File:
    """Return a file whose name and content are on the disk."""
    file = filesystem.open(path, create=True)
    filesystem.sync_directory(path.rpartition("/")[0] or "/")
    file.write_at(0, [content])
    file.flush()
    return file


def cut_power(filesystem: MemoryFileSystem, random: Random | None = None) -> None:
    filesystem.crash(loses_unflushed=True, random=random)


def test_an_overwrite_that_was_flushed_stays(filesystem: MemoryFileSystem) -> None:
    file = flushed(filesystem, "/a", b"old")
    file.write_at(0, [b"new"])
    file.flush()

    cut_power(filesystem)

    assert read_if_exists(filesystem, "/a") == b"new"


def test_two_overwrites_of_one_place_are_both_lost(filesystem: MemoryFileSystem) -> None:
    file = flushed(filesystem, "/a", b"flushed")
    file.write_at(0, [b"first"])
    file.write_at(0, [b"second"])

    cut_power(filesystem)

    assert read_if_exists(filesystem, "/a") == b"flushed"


def test_a_cut_that_was_not_flushed_may_be_lost_or_not() -> None:
    found = set()
    for seed in range(20):
        filesystem = MemoryFileSystem()
        flushed(filesystem, "/a", b"12345678").truncate(4)
        cut_power(filesystem, Random(seed))
        found.add(read_if_exists(filesystem, "/a"))

    assert found >= {b"1234", b"12345678"}


def test_a_name_that_was_not_synced_may_be_lost_or_not() -> None:
    found = set()
    for seed in range(20):
        filesystem = MemoryFileSystem()
        filesystem.open("/a", create=True)
        cut_power(filesystem, Random(seed))
        found.add(filesystem.exists("/a"))

    assert found == {False, True}


@pytest.mark.parametrize("seed", range(10))
def test_what_survived_one_power_failure_survives_the_next(
    filesystem: MemoryFileSystem, seed: int
) -> None:
    random = Random(seed)
    file = flushed(filesystem, "/a", b"flushed.")
    file.write_at(8, [b"not flushed"])
    cut_power(filesystem, random)
    survived = read_if_exists(filesystem, "/a")

    cut_power(filesystem, random)

    assert read_if_exists(filesystem, "/a") == survived


def in_two_directories(filesystem: MemoryFileSystem) -> None:
    """Put a file on the disk, in the first of two directories."""
    filesystem.make_directory("/from")
    filesystem.make_directory("/to")
    filesystem.sync_directory("/")
    flushed(filesystem, "/from/a", b"content")


def test_a_move_is_lost_unless_both_directories_are_synced(filesystem: MemoryFileSystem) -> None:
    in_two_directories(filesystem)
    filesystem.rename("/from/a", "/to/a")
    filesystem.sync_directory("/to")

    cut_power(filesystem)

    assert filesystem.list_directory("/from") == ["a"]
    assert filesystem.list_directory("/to") == []


def test_a_move_that_was_lost_is_not_undone_by_the_next_power_failure(
    filesystem: MemoryFileSystem,
) -> None:
    in_two_directories(filesystem)
    filesystem.rename("/from/a", "/to/a")
    cut_power(filesystem)
    flushed(filesystem, "/to/a", b"another")

    cut_power(filesystem)

    assert read_if_exists(filesystem, "/to/a") == b"another"
