"""What all file systems do alike, and what each does of its own."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from random import Random

import pytest

from pyk.runtime.filesystem import (
    DirectoryLockedError,
    FileSystem,
    OsFileSystem,
    read_if_exists,
    write_atomically,
)
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from support.counted_calls import counted_calls


@pytest.fixture(params=["operating system", "memory", "faulty"])
def filesystem(request: pytest.FixtureRequest) -> FileSystem:
    if request.param == "operating system":
        return OsFileSystem()
    memory = MemoryFileSystem()
    return memory if request.param == "memory" else FaultyFileSystem(memory)


@pytest.fixture
def directory(filesystem: FileSystem, tmp_path: Path) -> str:
    path = str(tmp_path / "data" / "log")
    filesystem.make_directory(path)
    return path


def write(filesystem: FileSystem, path: str, content: bytes) -> None:
    file = filesystem.open(path, create=True)
    file.write_at(0, [content])
    file.close()


def test_parts_are_written_one_after_the_other(filesystem, directory):
    file = filesystem.open(f"{directory}/a", create=True)

    file.write_at(0, [b"one", memoryview(b"two"), b"", bytearray(b"three")])

    assert file.size() == 11
    assert file.read_at(3, 3) == b"two"
    assert file.read_at(6, 100) == b"three"
    assert file.read_at(100, 1) == b""


def test_very_many_parts_are_written_all(filesystem, directory):
    file = filesystem.open(f"{directory}/a", create=True)

    file.write_at(0, [b"%04d" % number for number in range(3000)])

    assert file.read_at(0, 12_000) == b"".join(b"%04d" % number for number in range(3000))


def test_writing_beyond_the_end_leaves_zeros(filesystem, directory):
    file = filesystem.open(f"{directory}/a", create=True)

    file.write_at(2, [b"x"])

    assert file.read_at(0, 3) == b"\0\0x"


def test_truncating_cuts_and_extends(filesystem, directory):
    file = filesystem.open(f"{directory}/a", create=True)
    file.write_at(0, [b"abcdef"])

    file.truncate(2)
    file.truncate(4)

    assert file.read_at(0, 10) == b"ab\0\0"


def test_opening_does_not_create_unless_asked(filesystem, directory):
    with pytest.raises(FileNotFoundError):
        filesystem.open(f"{directory}/a")
    with pytest.raises(FileNotFoundError):
        filesystem.open(f"{directory}/missing/a", create=True)


def test_names_are_listed_sorted(filesystem, directory):
    for name in ("b", "a"):
        write(filesystem, f"{directory}/{name}", b"")
    filesystem.make_directory(f"{directory}/c/d")

    assert filesystem.list_directory(directory) == ["a", "b", "c"]
    assert filesystem.is_directory(f"{directory}/c/d")
    assert not filesystem.is_directory(f"{directory}/a")
    assert not filesystem.is_directory(f"{directory}/x")
    assert filesystem.exists(f"{directory}/a")
    assert not filesystem.exists(f"{directory}/x")


def test_renamed_file_replaces_and_stays_open(filesystem, directory):
    write(filesystem, f"{directory}/old", b"old")
    file = filesystem.open(f"{directory}/new", create=True)
    file.write_at(0, [b"new"])

    filesystem.rename(f"{directory}/new", f"{directory}/old")

    assert file.read_at(0, 3) == b"new"
    assert filesystem.list_directory(directory) == ["old"]
    assert read_if_exists(filesystem, f"{directory}/old") == b"new"


def test_renamed_directory_keeps_its_files(filesystem, directory):
    write(filesystem, f"{directory}/a", b"content")
    target = directory + ".deleted"

    filesystem.rename(directory, target)

    assert read_if_exists(filesystem, f"{target}/a") == b"content"
    assert not filesystem.exists(directory)


def test_removed_file_can_be_read_as_long_as_it_is_open(filesystem, directory):
    write(filesystem, f"{directory}/a", b"content")
    file = filesystem.open(f"{directory}/a")

    filesystem.remove(f"{directory}/a")

    assert file.read_at(0, 100) == b"content"
    assert not filesystem.exists(f"{directory}/a")
    with pytest.raises(FileNotFoundError):
        filesystem.remove(f"{directory}/a")


def test_tree_is_removed_with_all_that_is_in_it(filesystem, directory):
    filesystem.make_directory(f"{directory}/b")
    write(filesystem, f"{directory}/b/c", b"content")

    filesystem.remove_tree(directory)
    filesystem.remove_tree(directory)

    assert not filesystem.exists(directory)


def test_sizes_are_those_of_files(filesystem, directory):
    write(filesystem, f"{directory}/a", b"12345")

    assert filesystem.size(f"{directory}/a") == 5
    size, modified_ms = filesystem.size_and_modified_ms(f"{directory}/a")
    assert size == filesystem.size(f"{directory}/a")
    assert modified_ms >= 0
    with pytest.raises(FileNotFoundError):
        filesystem.size(f"{directory}/x")


def test_lock_keeps_others_out_until_it_is_released(filesystem, directory):
    lock = filesystem.lock(f"{directory}/.lock")

    with pytest.raises(DirectoryLockedError, match="another broker is using this directory"):
        filesystem.lock(f"{directory}/.lock")

    lock.release()
    lock.release()
    filesystem.lock(f"{directory}/.lock").release()


def test_atomic_write_replaces_as_a_whole(filesystem, directory):
    write(filesystem, f"{directory}/a.tmp", b"what an earlier attempt left behind")

    write_atomically(filesystem, f"{directory}/a", b"one")
    write_atomically(filesystem, f"{directory}/a", b"two", is_durable=False)

    assert read_if_exists(filesystem, f"{directory}/a") == b"two"
    assert filesystem.list_directory(directory) == ["a"]
    assert read_if_exists(filesystem, f"{directory}/b") is None


def test_files_are_for_their_owner_only(tmp_path):
    before = os.umask(0)
    try:
        OsFileSystem().make_directory(str(tmp_path / "data"))
        write(OsFileSystem(), str(tmp_path / "data" / "a"), b"")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "data" / "a").stat().st_mode) == 0o600


def test_symbolic_links_are_not_followed(tmp_path):
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "link").symlink_to(tmp_path / "secret")

    with pytest.raises(OSError, match="symbolic links"):
        OsFileSystem().open(str(tmp_path / "link"))
    assert not OsFileSystem().is_directory(str(tmp_path / "link"))


def test_descriptor_is_closed_with_the_last_reference(tmp_path):
    file = OsFileSystem().open(str(tmp_path / "a"), create=True)
    descriptor = file.fileno()
    os.fstat(descriptor)

    del file

    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_crash_of_the_process_loses_nothing_but_open_files_and_locks():
    filesystem = MemoryFileSystem()
    filesystem.make_directory("/data")
    filesystem.lock("/data/.lock")
    file = filesystem.open("/data/a", create=True)
    file.write_at(0, [b"content"])

    filesystem.crash(loses_unflushed=False)

    assert read_if_exists(filesystem, "/data/a") == b"content"
    filesystem.lock("/data/.lock")
    with pytest.raises(OSError, match="the file is closed"):
        file.read_at(0, 1)


def test_power_failure_loses_bytes_that_were_not_flushed():
    filesystem = MemoryFileSystem()
    filesystem.make_directory("/data")
    filesystem.sync_directory("/")
    file = filesystem.open("/data/a", create=True)
    filesystem.sync_directory("/data")
    file.write_at(0, [b"0123456789"])
    file.flush()
    file.write_at(2, [b"xx"])
    file.truncate(5)
    file.write_at(5, [b"more and more"])

    filesystem.crash(loses_unflushed=True)

    assert read_if_exists(filesystem, "/data/a") == b"0123456789"


PAGES = [b"aaaa", b"bbbb", b"cccc"]


def contents_after_power_failures(*writes: tuple[int, bytes]) -> set[bytes]:
    """Return the possible contents of a flushed file of three pages after unflushed writes."""
    found = set()
    for seed in range(300):
        filesystem = MemoryFileSystem(page_bytes=4)
        file = filesystem.open("/a", create=True)
        filesystem.sync_directory("/")
        file.write_at(0, PAGES)
        file.flush()
        for position, content in writes:
            file.write_at(position, [content])
        filesystem.crash(loses_unflushed=True, random=Random(seed))
        found.add(read_if_exists(filesystem, "/a") or b"")
    return found


def test_power_failure_may_keep_a_later_page_and_lose_an_earlier_one():
    assert contents_after_power_failures((0, b"xxxx"), (8, b"yyyy")) == {
        b"aaaabbbbcccc",
        b"xxxxbbbbcccc",
        b"aaaabbbbyyyy",
        b"xxxxbbbbyyyy",
    }


def test_power_failure_may_keep_a_page_as_it_was_between_two_writes():
    found = contents_after_power_failures((4, b"11"), (5, b"22"))

    assert found == {b"aaaabbbbcccc", b"aaaa11bbcccc", b"aaaa122bcccc"}


def test_power_failure_may_leave_zeros_where_a_page_was_appended_and_not_written():
    found = contents_after_power_failures((12, b"dddd"), (16, b"eeee"))

    assert b"aaaabbbbcccc\0\0\0\0eeee" in found
    assert b"aaaabbbbcccc" in found
    assert b"aaaabbbbccccddddeeee" in found
    assert all(content.startswith(b"aaaabbbbcccc") for content in found)


def test_power_failure_loses_names_that_were_not_synced():
    filesystem = MemoryFileSystem()
    filesystem.make_directory("/data")
    filesystem.sync_directory("/")
    for name, content in (("kept", b"old"), ("gone", b"x")):
        file = filesystem.open(f"/data/{name}", create=True)
        file.write_at(0, [content])
        file.flush()
    filesystem.sync_directory("/data")
    write_atomically(filesystem, "/data/kept", b"new", is_durable=False)
    filesystem.remove("/data/gone")
    filesystem.make_directory("/data/b")

    filesystem.crash(loses_unflushed=True)

    assert filesystem.list_directory("/data") == ["gone", "kept"]
    assert read_if_exists(filesystem, "/data/kept") == b"old"


def test_syncing_a_directory_looks_at_its_own_names_only():
    filesystem = MemoryFileSystem()
    for number in range(500):
        filesystem.make_directory(f"/data/{number}")
        write(filesystem, f"/data/{number}/a", b"x")

    with counted_calls() as calls:
        filesystem.sync_directory("/data/7")

    assert calls.count < 50
    filesystem.sync_directory("/data")
    filesystem.sync_directory("/")
    filesystem.crash(loses_unflushed=True)
    assert filesystem.exists("/data/7/a")
    assert not filesystem.exists("/data/8/a")


def test_atomic_writes_survive_a_power_failure():
    filesystem = MemoryFileSystem()
    filesystem.make_directory("/data")
    filesystem.sync_directory("/")
    write_atomically(filesystem, "/data/a", b"one")
    write_atomically(filesystem, "/data/a", b"two")

    filesystem.crash(loses_unflushed=True)

    assert read_if_exists(filesystem, "/data/a") == b"two"


def test_directory_that_was_renamed_without_a_sync_gets_its_name_back():
    filesystem = MemoryFileSystem()
    filesystem.make_directory("/data/a")
    filesystem.sync_directory("/")
    filesystem.sync_directory("/data")
    filesystem.rename("/data/a", "/data/b")

    filesystem.crash(loses_unflushed=True)

    assert filesystem.list_directory("/data") == ["a"]


@pytest.fixture
def faulty() -> FaultyFileSystem:
    filesystem = FaultyFileSystem(MemoryFileSystem())
    filesystem.make_directory("/data")
    return filesystem


def test_fault_happens_as_often_as_its_rule_says(faulty):
    faulty.on("open", "*.log").times(2).fail(errno.EMFILE)

    for _ in range(2):
        with pytest.raises(OSError, match="Too many open files"):
            faulty.open("/data/a.log", create=True)
    faulty.open("/data/a.log", create=True)
    faulty.open("/data/a.index", create=True)


def test_torn_write_leaves_a_part(faulty):
    file = faulty.open("/data/a", create=True)
    faulty.on("write").once().tear(3)

    with pytest.raises(OSError, match="No space left on device"):
        file.write_at(0, [b"ab", b"cd"])

    assert file.read_at(0, 10) == b"abc"
    file.write_at(3, [b"d"])
    assert file.size() == 4


def test_lost_flush_looks_like_success(faulty):
    memory = MemoryFileSystem()
    memory.make_directory("/data")
    memory.sync_directory("/")
    faulty = FaultyFileSystem(memory)
    file = faulty.open("/data/a", create=True)
    faulty.sync_directory("/data")
    fault = faulty.on("flush").lose()
    file.write_at(0, [b"lost"])
    file.flush()

    memory.crash(loses_unflushed=True)
    assert memory.size("/data/a") == 0

    fault.heal()
    file = faulty.open("/data/a")
    file.write_at(0, [b"kept"])
    file.flush()
    memory.crash(loses_unflushed=True)
    assert memory.size("/data/a") == 4


@pytest.mark.parametrize("operation", ["truncate", "flush", "read"])
def test_file_operations_fail_at_their_points(faulty, operation):
    file = faulty.open("/data/a", create=True)
    faulty.on(operation).fail()

    calls = {
        "truncate": lambda: file.truncate(0),
        "flush": file.flush,
        "read": lambda: file.read_at(0, 1),
    }
    with pytest.raises(OSError, match="Input/output error"):
        calls[operation]()

    faulty.heal()
    calls[operation]()


def test_directory_operations_fail_at_their_points(faulty):
    calls = {
        "rename": lambda: faulty.rename("/data/a", "/data/b"),
        "remove": lambda: faulty.remove("/data/b"),
        "make_directory": lambda: faulty.make_directory("/data/c"),
        "sync_directory": lambda: faulty.sync_directory("/data"),
    }
    faulty.open("/data/a", create=True)
    for operation, call in calls.items():
        faulty.on(operation).once().fail(errno.EACCES)
        with pytest.raises(PermissionError):
            call()
        call()


def test_unknown_point_is_named(faulty):
    with pytest.raises(ValueError, match="no operation 'fsync': use one of open, read, write"):
        faulty.on("fsync")


def test_scratch_files_wait_for_no_device(tmp_path):
    durable, scratch = OsFileSystem(), OsFileSystem(is_durable=False)

    with pytest.raises(OSError, match="Invalid argument"):
        durable.open("/dev/null").flush()  # no device is behind it
    scratch.open("/dev/null").flush()
    with pytest.raises(FileNotFoundError):
        durable.sync_directory(f"{tmp_path}/missing")
    scratch.sync_directory(f"{tmp_path}/missing")
    assert durable.waits_for_device
    assert not scratch.waits_for_device
