"""The batches that a share fetch has read, where they lie in a segment file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyk.reference_broker.storage.errors import StorageError
from pyk.reference_broker.storage.file_records import NO_RECORDS, FileRecords
from pyk.reference_broker.storage.stored_batches import StoredBatch, walk_batches
from pyk.reference_broker.storage.unstable_transactions import EndedTransaction

from .acquisition import AcquiredRecords


def batches_of(records: FileRecords, enough_offset: int) -> list[StoredBatch]:
    """Return the whole batches of what was read, up to the one with ``enough_offset``.

    Raises ``StorageError``.
    """
    found: list[StoredBatch] = []
    if records.file is None:
        return found
    end = records.position + records.size
    try:
        for batch in walk_batches(records.file, records.position, end, may_be_cut=True):
            found.append(batch)
            if batch.last_offset >= enough_offset:
                break
    except OSError as error:
        raise StorageError(f"cannot read {records.file.path}: {error}") from error
    return found


def records_of(
    records: FileRecords, batches: Sequence[StoredBatch], acquired: Sequence[AcquiredRecords]
) -> FileRecords:
    """Return the part of what was read that begins and ends with what was acquired."""
    first_offset, last_offset = acquired[0].first_offset, acquired[-1].last_offset
    needed = [
        batch
        for batch in batches
        if batch.last_offset >= first_offset and batch.base_offset <= last_offset
    ]
    if not needed:
        return NO_RECORDS
    position = needed[0].position
    return FileRecords(records.file, position, needed[-1].end - position)


def aborted_ranges(
    batches: Iterable[StoredBatch], aborted: Iterable[EndedTransaction]
) -> list[tuple[int, int]]:
    """Return the offsets of the batches that belong to aborted transactions."""
    by_producer: dict[int, list[EndedTransaction]] = {}
    for transaction in aborted:
        by_producer.setdefault(transaction.producer_id, []).append(transaction)
    return [
        (batch.base_offset, batch.last_offset)
        for batch in batches
        if batch.is_transactional
        and not batch.is_control
        and any(
            transaction.first_offset <= batch.base_offset < transaction.last_offset
            for transaction in by_producer.get(batch.producer_id, ())
        )
    ]


def without(
    acquired: Iterable[AcquiredRecords], ranges: Sequence[tuple[int, int]]
) -> list[AcquiredRecords]:
    """Return what is left of acquired records without these ranges, which are in order."""
    left: list[AcquiredRecords] = []
    for each in acquired:
        begin = each.first_offset
        for first, last in ranges:
            if last < begin or first > each.last_offset:
                continue
            if first > begin:
                left.append(AcquiredRecords(begin, first - 1, each.delivery_count))
            begin = last + 1
        if begin <= each.last_offset:
            left.append(AcquiredRecords(begin, each.last_offset, each.delivery_count))
    return left
