"""Record batches for tests."""

from __future__ import annotations

from collections.abc import Sequence

from pyk.protocol.records import Compression, RecordBatchBuilder, set_base_offset_and_epoch


def batch(
    base_offset: int,
    values: Sequence[bytes | None],
    *,
    key: bytes | None = None,
    headers: Sequence[tuple[str, bytes | None]] = (),
    timestamp_ms: int = 1_700_000_000_000,
    leader_epoch: int = 0,
    compression: Compression = Compression.NONE,
    producer_id: int = -1,
    is_transactional: bool = False,
) -> bytearray:
    """Return a batch whose first record has ``base_offset``, as a broker stores it."""
    builder = RecordBatchBuilder(compression=compression, max_bytes=1 << 24)
    for value in values:
        builder.append(timestamp_ms, key, value, tuple(headers))
    data = bytearray(
        builder.seal(
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            base_sequence=0 if producer_id >= 0 else -1,
            is_transactional=is_transactional,
        )
    )
    set_base_offset_and_epoch(data, base_offset, leader_epoch)
    return data


def batches(base_offset: int, *counts: int) -> bytearray:
    """Return batches one after the other; the value of each record is its offset as text."""
    data = bytearray()
    for count in counts:
        data += batch(base_offset, [b"%d" % (base_offset + n) for n in range(count)])
        base_offset += count
    return data
