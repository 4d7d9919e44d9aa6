"""The last offset of each key in the dirty part of a log. Pure.

The memory is bounded as in Kafka: by ``log.cleaner.dedupe.buffer.size``, at 24 bytes for a key. A
pass that finds more keys ends where the room ended, and the next one goes on there.
"""

from __future__ import annotations

from hashlib import blake2b

BYTES_PER_KEY = 24
LONGEST_PLAIN_KEY = 32


class LatestOffsets:
    """Offsets by key, for at most ``max_keys`` keys. ``end_offset`` is the end of what was read."""

    def __init__(self, max_keys: int, end_offset: int) -> None:
        self.end_offset = end_offset
        self._max_keys = max_keys
        self._offsets: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._offsets)

    def has_room_for(self, keys: int) -> bool:
        """Whether a batch of so many records can be taken; the first one always can."""
        return not self._offsets or len(self._offsets) + keys <= self._max_keys

    def note(self, key: bytes, offset: int) -> None:
        """Remember that ``key`` has a record at ``offset``, which lies after all before."""
        self._offsets[_fingerprint(key)] = offset

    def offset_of(self, key: bytes) -> int:
        """Return the last offset of ``key``, -1 if it has none."""
        return self._offsets.get(_fingerprint(key), -1)


def _fingerprint(key: bytes) -> bytes:
    """Return what stands for a key in memory: a long one as a digest, which is longer than others.

    Two keys with the same digest of 320 bits do not come up.
    """
    if len(key) <= LONGEST_PLAIN_KEY:
        return bytes(key)
    return blake2b(key, digest_size=40).digest()
