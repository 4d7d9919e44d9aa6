"""Name finished offsets in the note of a commit, so that a restart does not repeat them. Pure.

A commit has one offset for each partition: the first that is not finished. Handlers side by side
finish later ones before it. The note (Kafka: the metadata of a committed offset) names those, so
that the next owner of the partition leaves them out. Layout::

    pyk1:<base64 of numbers, each a varint: length of a gap, of a run, of a gap …>

Gap and run count offsets from the committed one on, which is the first of the first gap. A note
that somebody else wrote, or that is damaged, is ignored: its records are handled again.
"""

from __future__ import annotations

import base64
import binascii
import itertools
import logging
from collections.abc import Iterable, Iterator

log = logging.getLogger(__name__)

PREFIX = "pyk1:"
# Brokers refuse notes beyond offset.metadata.max.bytes, which is 4096 unless it was changed.
MAX_BYTES = 4096
# A shorter one has no room for a gap.
SHORTEST_BYTES = 16
# No partition keeps so many records; a damaged note must not make a set of billions of offsets.
_MAX_FINISHED = 1_000_000
_MAX_OFFSET = 2**63 - 1


def encode_finished(offset: int, finished: Iterable[int], max_bytes: int = MAX_BYTES) -> str:
    """Return the note for a commit of ``offset``: the finished offsets after it, which ascend.

    As many as fit, the first ones first; an empty text if there are none.
    """
    return _encode(offset, finished, max_bytes)[0]


def encode_all(offset: int, finished: Iterable[int], max_bytes: int = MAX_BYTES) -> str | None:
    """Return the note as :func:`encode_finished`, None if it cannot name all of them."""
    note, is_complete = _encode(offset, finished, max_bytes)
    return note if is_complete else None


def _encode(offset: int, finished: Iterable[int], max_bytes: int) -> tuple[str, bool]:
    """Return a note, and whether everything fits."""
    longest = max(0, max_bytes - len(PREFIX)) // 4 * 3
    payload, after, is_complete = bytearray(), offset, True
    for first, end in _runs(finished):
        if first < after:
            continue
        pair = _varint(first - after) + _varint(end - first)
        if len(payload) + len(pair) > longest:
            is_complete = False
            break
        payload += pair
        after = end
    return (PREFIX + base64.b64encode(payload).decode() if payload else ""), is_complete


class NoteLimit:
    """How long notes may be: as long as brokers take them."""

    def __init__(self) -> None:
        self.max_bytes = MAX_BYTES

    def shorten(self) -> bool:
        """Learn that a broker has refused a note; return False if there are none any more."""
        if not self.max_bytes:
            return False
        self.max_bytes = self.max_bytes // 2 if self.max_bytes > SHORTEST_BYTES else 0
        log.warning(
            "The broker refuses notes of commits (offset.metadata.max.bytes): they are limited to "
            "%d bytes from now on, so a restart may repeat more",
            self.max_bytes,
        )
        return True


def decode_finished(offset: int, note: str) -> frozenset[int] | None:
    """Return the finished offsets that the note of a commit of ``offset`` names.

    None for a note that is damaged, or that pyk did not write.
    """
    if not note:
        return frozenset()
    if not note.startswith(PREFIX) or len(note) > MAX_BYTES:
        return None
    try:
        lengths = list(_numbers(base64.b64decode(note[len(PREFIX) :], validate=True)))
    except (binascii.Error, ValueError):
        return None
    if not lengths or len(lengths) % 2 or sum(lengths[1::2]) > _MAX_FINISHED:
        return None
    if offset + sum(lengths) > _MAX_OFFSET:
        return None
    ends = list(itertools.accumulate(lengths, initial=offset))
    runs = zip(ends[1::2], ends[2::2], strict=True)
    return frozenset(itertools.chain.from_iterable(range(first, end) for first, end in runs))


def _runs(offsets: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the first offset of each run of consecutive ones, and the offset after its last."""
    first = end = None
    for offset in offsets:
        if offset != end:
            if first is not None and end is not None:
                yield first, end
            first = offset
        end = offset + 1
    if first is not None and end is not None:
        yield first, end


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _numbers(data: bytes) -> Iterator[int]:
    number = shift = 0
    for byte in data:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield number
            number = shift = 0
    if shift:
        raise ValueError("the last number is cut short")
