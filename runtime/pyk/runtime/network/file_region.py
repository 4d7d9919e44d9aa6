"""Parts of a frame: bytes, or a region of a file."""

from __future__ import annotations

from typing import BinaryIO

from pyk.runtime import slotted


@slotted.frozen
class FileRegion:
    """Bytes of an open file that are sent from the page cache without passing through Python."""

    file: BinaryIO
    offset: int
    size: int

    def __len__(self) -> int:
        return self.size


Part = bytes | bytearray | memoryview | FileRegion
