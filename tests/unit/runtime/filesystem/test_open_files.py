"""Files that stay open, as many as fit."""

from __future__ import annotations

import os

import pytest

from pyk.runtime.filesystem import OsFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.filesystem.open_files import OpenFiles


@pytest.fixture
def files() -> OpenFiles:
    filesystem = MemoryFileSystem()
    filesystem.make_directory("/data")
    for name in "abc":
        filesystem.open(f"/data/{name}", create=True).write_at(0, [name.encode()])
    return OpenFiles(filesystem, limit=2)


def test_file_is_opened_once(files):
    assert files.get("/data/a") is files.get("/data/a")


def test_least_recently_used_file_falls_out(files):
    a, b = files.get("/data/a"), files.get("/data/b")
    files.get("/data/a")

    files.get("/data/c")

    assert len(files) == 2
    assert files.get("/data/a") is a
    assert files.get("/data/b") is not b


def test_released_path_may_mean_another_file(files):
    files.get("/data/a")
    files.release("/data/a")
    files.release("/data/a")
    files.filesystem.rename("/data/b", "/data/a")

    assert files.get("/data/a").read_at(0, 1) == b"b"


def test_missing_file_is_not_created(files):
    with pytest.raises(FileNotFoundError):
        files.get("/data/missing")


def test_file_that_fell_out_is_closed_with_its_last_reference(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"content")
    files = OpenFiles(OsFileSystem(), limit=1)
    sending = files.get(str(tmp_path / "a"))
    descriptor = sending.fileno()

    files.get(str(tmp_path / "b"))
    assert sending.read_at(0, 7) == b"content"
    del sending

    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_limit_is_a_share_of_the_descriptors_of_the_process():
    filesystem = OsFileSystem()

    assert OpenFiles(filesystem).limit == filesystem.max_open_files // 4
