"""Records where they lie in a segment file, to be sent from there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, cast

from pyk.runtime import slotted
from pyk.runtime.filesystem.interface import File
from pyk.runtime.network.file_region import FileRegion

SEND_FROM_FILE_ABOVE_BYTES = 16 * 1024


@slotted.frozen
class FileRecords:
    """A region of a segment file: batches, the last one possibly cut. ``len()`` is its size."""

    file: File | None
    position: int
    size: int

    def __len__(self) -> int:
        return self.size

    def read(self) -> bytes:
        """Return the bytes."""
        return self.file.read_at(self.position, self.size) if self.file is not None else b""

    def chunks(self, size: int) -> Iterator[bytes]:
        """Yield the bytes, read ``size`` at a time."""
        if self.file is None:
            return
        end = self.position + self.size
        for position in range(self.position, end, size):
            yield self.file.read_at(position, min(size, end - position))

    def as_part(self) -> bytes | FileRegion | FileRecords:
        """Return what a transport should send.

        That is the file region, or the bytes if they are few; where there is no file that a
        transport can send from, the records themselves, to be sent in chunks.
        """
        if self.size <= SEND_FROM_FILE_ABOVE_BYTES or self.file is None:
            return self.read()
        if not self.file.has_descriptor:
            return self
        return FileRegion(cast(BinaryIO, self.file), self.position, self.size)


NO_RECORDS = FileRecords(None, 0, 0)
