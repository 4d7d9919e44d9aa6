"""What a test asks of a disk: a fault that could never happen is refused where it is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda disk: disk.on("write", 5), TypeError, "the pattern of paths must be a str, not 5"),
        (lambda disk: disk.fail(["/a"]), TypeError, "the pattern of paths must be a str, not"),
        (lambda disk: disk.full(None), TypeError, "the pattern of paths must be a str, not None"),
        (lambda disk: disk.slow("1s"), TypeError, "seconds must be a number, not '1s'"),
        (lambda disk: disk.slow(-1), ValueError, "seconds must be a finite number from 0 on"),
        (
            lambda disk: disk.on("write").fail("EIO"),
            TypeError,
            r"error \(such as errno.EIO\) must be an int, not 'EIO'",
        ),
        (
            lambda disk: disk.on("write").fail(0),
            ValueError,
            r"error \(such as errno.EIO\) must be 1 or more, not 0",
        ),
        (
            lambda disk: disk.on("write").tear("x"),
            TypeError,
            "bytes_before must be an int, not 'x'",
        ),
        (lambda disk: disk.on("write").tear(-1), ValueError, "bytes_before must be 0 or more"),
        (lambda disk: disk.on("write").tear(1, "ENOSPC"), TypeError, "error .* must be an int"),
        (lambda disk: disk.on("flush").tear(1), ValueError, r"tear\(\) is for writes, not for fl"),
        (lambda disk: disk.on("write").times("3"), TypeError, "times must be an int, not '3'"),
        (lambda disk: disk.on("write").times(0), ValueError, "times must be 1 or more, not 0"),
        (lambda disk: disk.on("write").after(-1), ValueError, "after must be 0 or more, not -1"),
        (lambda disk: disk.on("write").after(None), TypeError, "after must be an int, not None"),
    ],
)
def test_a_fault_that_no_disk_has_is_refused_and_changes_nothing(
    make: Callable[[Any], object], error: type[Exception], words: str
) -> None:
    disk = FaultyFileSystem(MemoryFileSystem())

    with pytest.raises(error, match=words):
        make(disk)

    disk.make_directory("/a")
    disk.open("/a/file", create=True).write_at(0, [b"as ever"])
