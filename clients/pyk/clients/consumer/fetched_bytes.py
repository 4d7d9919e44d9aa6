"""Look at fetched batches from outside, before anybody reads them. Pure."""

from __future__ import annotations

from pyk.protocol.wire_numbers import get_int32, get_int64

LENGTH_AT = 8
LENGTH_END = 12  # where magic 2 has its leader epoch
MAGIC_AT = 16
START_BYTES = 17
LAST_OFFSET_DELTA_AT = 23
MAGIC_2_HEADER_BYTES = 61
NO_EPOCH = -1
LAST_OFFSET = 2**63 - 1


class FetchedEnd:
    """Where the batches of a fetch end, as far as their headers can be believed."""

    def __init__(self, next_offset: int, leader_epoch: int, has_batch: bool) -> None:
        self.next_offset = next_offset
        """Where to fetch next; -1 if only reading the batches can tell."""
        self.leader_epoch = leader_epoch
        """The leader epoch of the last batch, -1 if unknown."""
        self.has_batch = has_batch
        """Whether there is a batch that ends where it says, good or bad. Brokers never cut the
        first one short (KIP-74), so without one, fetching again brings the same."""


def find_end(data: memoryview, fetch_offset: int) -> FetchedEnd:
    """Return where the batches of ``data``, fetched at ``fetch_offset``, end.

    Headers are not protected by the checksum, so this is a guess that lets the next fetch begin
    early; the reader finds out if it was wrong.
    """
    position, size, next_offset, epoch = 0, len(data), fetch_offset, NO_EPOCH
    while position + START_BYTES <= size:
        offset, length = get_int64(data, position), get_int32(data, position + LENGTH_AT)
        magic = get_int32(data, position + MAGIC_AT - 3) & 0xFF
        end = position + LENGTH_END + length
        if end > size:
            break  # the last batch may be cut short
        if magic in (0, 1) and length > 0:
            delta, batch_epoch = 0, NO_EPOCH  # the offset is that of the last record
        elif magic == 2 and length >= MAGIC_2_HEADER_BYTES - LENGTH_END:
            delta = get_int32(data, position + LAST_OFFSET_DELTA_AT)
            batch_epoch = get_int32(data, position + LENGTH_END)
        else:
            delta, batch_epoch = -1, NO_EPOCH
        if delta < 0 or offset < 0 or delta >= LAST_OFFSET - offset:
            return FetchedEnd(-1, NO_EPOCH, True)
        behind = offset + delta + 1
        if behind < next_offset:
            return FetchedEnd(-1, NO_EPOCH, True)
        position, next_offset, epoch = end, behind, batch_epoch
    if position == 0:
        return FetchedEnd(-1, NO_EPOCH, False)
    return FetchedEnd(next_offset, epoch, True)
