"""The generation of a log, by which a start tells two logs of one partition apart."""

from __future__ import annotations

import pytest

from pyk.reference_broker.storage import StorageError
from pyk.reference_broker.storage.log_generation import (
    FILE_NAME,
    read_generation,
    remove_generation,
    write_generation,
)
from pyk.runtime.filesystem.memory import MemoryFileSystem


@pytest.fixture
def filesystem() -> MemoryFileSystem:
    filesystem = MemoryFileSystem()
    filesystem.make_directory("/log")
    return filesystem


def test_a_log_without_the_file_is_of_generation_0(filesystem):
    assert read_generation(filesystem, "/log") == 0


def test_a_generation_that_was_written_is_read_until_it_is_removed(filesystem):
    write_generation(filesystem, "/log", 12)
    assert read_generation(filesystem, "/log") == 12

    remove_generation(filesystem, "/log")

    assert read_generation(filesystem, "/log") == 0


@pytest.mark.parametrize(
    ("content", "generation"), [(b"replaces AAAA\n", 1), (b"given-up AAAA\n", 2)]
)
def test_a_file_of_an_earlier_pyk_is_read(filesystem, content, generation):
    write(filesystem, content)

    assert read_generation(filesystem, "/log") == generation


@pytest.mark.parametrize("content", [b"", b"generation", b"generation -1\n", b"g 1\n", b"\xff"])
def test_a_damaged_file_is_named(filesystem, content):
    write(filesystem, content)

    with pytest.raises(StorageError, match=rf"/log/{FILE_NAME} is damaged"):
        read_generation(filesystem, "/log")


def write(filesystem: MemoryFileSystem, content: bytes) -> None:
    filesystem.open(f"/log/{FILE_NAME}", create=True).write_at(0, [content])
