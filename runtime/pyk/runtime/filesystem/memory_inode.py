"""The content of a file in memory, and what a disk would hold of it without power. Pure."""

from __future__ import annotations

from random import Random

from pyk.runtime import slotted


@slotted.define(eq=False)
class Inode:
    """The content of a file, and how to restore what is surely on the disk.

    Of bytes only those are kept that were flushed and are overwritten; logs only grow, so in
    practice there are none.
    """

    modified_ms: int
    data: bytearray = slotted.field(factory=bytearray)
    flushed_size: int = 0
    overwritten: list[tuple[int, bytes]] = slotted.field(factory=list)
    """Position and former content of each overwrite since the flush, in order."""

    def save(self, start: int, end: int) -> None:
        """Keep what ``start`` to ``end`` holds, as far as it is flushed."""
        end = min(end, self.flushed_size)
        if start < end:
            self.overwritten.append((start, bytes(self.data[start:end])))

    def flush(self) -> None:
        """Record that the disk holds everything."""
        self.flushed_size = len(self.data)
        self.overwritten.clear()

    def lose_unflushed(self, random: Random | None, page_bytes: int) -> None:
        """Lose what was not flushed, or with ``random`` a random part of it."""
        if random is None:
            for position, former in reversed(self.overwritten):
                self.data[position : position + len(former)] = former
            del self.data[self.flushed_size :]
        else:
            latest, size = bytes(self.data), self._size_on_disk(random)
            self.data[:] = latest[:size].ljust(size, b"\0")
            for start in self._doubtful_pages(latest, page_bytes):
                end = min(start + page_bytes, size)
                if start < end:
                    self.data[start:end] = self._page_on_disk(start, end, latest, random)
        self.flush()

    def _doubtful_pages(self, latest: bytes, page_bytes: int) -> list[int]:
        """Return where the pages begin that may differ from what was written last."""
        pages: set[int] = set()
        appended_to = len(latest.rstrip(b"\0"))  # zeros are what a page holds that was not written
        for start, end in [
            *((position, position + len(former)) for position, former in self.overwritten),
            (self.flushed_size, appended_to),
        ]:
            pages.update(range(start // page_bytes * page_bytes, end, page_bytes))
        return sorted(pages)

    def _size_on_disk(self, random: Random) -> int:
        """Return any size that the file may have: a disk stores it apart from the pages."""
        latest = len(self.data)
        if latest < self.flushed_size:
            return random.choice([latest, self.flushed_size])  # it was cut, or was not
        return random.choice([self.flushed_size, latest, random.randint(self.flushed_size, latest)])

    def _page_on_disk(self, start: int, end: int, latest: bytes, random: Random) -> bytes:
        """Return what a page holds to which only the first of its writes may have arrived.

        Each page is written at a time of its own, so a later page may have arrived before this.
        """
        page = bytearray(latest[start:end].ljust(end - start, b"\0"))
        overwritten = [
            (position, former)
            for position, former in self.overwritten
            if position < end and start < position + len(former)
        ]
        arrived = random.randint(0, len(overwritten))
        for position, former in reversed(overwritten[arrived:]):
            first, last = max(position, start), min(position + len(former), end)
            page[first - start : last - start] = former[first - position : last - position]
        appended_from = max(start, self.flushed_size)
        if appended_from < end:
            reached = random.choice([appended_from, end, random.randint(appended_from, end)])
            page[reached - start :] = bytes(end - reached)
        return bytes(page)
