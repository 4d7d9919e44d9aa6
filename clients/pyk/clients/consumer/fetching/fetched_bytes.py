"""Inspect the headers of fetched batches, before they are read. Pure."""

from __future__ import annotations

from pyk.protocol.records.batch_header import BatchHeader

NO_EPOCH = -1
LAST_OFFSET = 2**63 - 1


class FetchedEnd:
    """The end of the batches of a fetch, as far as their headers can be trusted."""

    def __init__(self, next_offset: int, leader_epoch: int, has_batch: bool) -> None:
        self.next_offset = next_offset
        """The offset to fetch next; -1 if only reading the batches can tell."""
        self.leader_epoch = leader_epoch
        """The leader epoch of the last batch, -1 if unknown."""
        self.has_batch = has_batch
        """Whether there is a complete batch, good or bad. Brokers never cut the first one short
        (KIP-74), so without one, another fetch would bring the same."""


def find_end(data: memoryview, fetch_offset: int) -> FetchedEnd:
    """Return where the batches of ``data``, fetched at ``fetch_offset``, end.

    Headers are not protected by the checksum, so this is a guess that lets the next fetch begin
    early; the reader finds out if it was wrong.
    """
    position, size, next_offset, epoch = 0, len(data), fetch_offset, NO_EPOCH
    header = BatchHeader()
    while header.read(data, position):
        end = position + header.size_in_bytes
        if end > size:
            break  # the last batch may be cut short
        if header.is_whole:
            delta, batch_epoch = header.last_offset_delta, header.partition_leader_epoch
        elif header.magic in (0, 1) and header.length > 0:
            delta, batch_epoch = 0, NO_EPOCH  # the offset is that of the last record
        else:
            delta, batch_epoch = -1, NO_EPOCH
        offset = header.base_offset
        if delta < 0 or offset < 0 or delta >= LAST_OFFSET - offset:
            return FetchedEnd(-1, NO_EPOCH, True)
        following = offset + delta + 1
        if following < next_offset:
            return FetchedEnd(-1, NO_EPOCH, True)
        position, next_offset, epoch = end, following, batch_epoch
    if position == 0:
        return FetchedEnd(-1, NO_EPOCH, False)
    return FetchedEnd(next_offset, epoch, True)
