"""Columns of committed records are made without an object per record, also without those that were
aborted."""

from __future__ import annotations

import tracemalloc

import pytest

from pyk.clients.consumer.records.records import ConsumerRecords
from pyk.protocol.records import FetchedRecords, reader
from support.batches import batch

IS_COMPILED = not reader.__file__.endswith(".py")
COUNT = 2_000
COMMITTED, ABORTED = 7, 8
# An offset and a value of one byte take 13 bytes in columns; the smallest object takes 50.
MOST_BYTES_PER_RECORD = 30

pytestmark = pytest.mark.skipif(not IS_COMPILED, reason="nothing is compiled: run `make native`")


def fetched(values: list[bytes]) -> FetchedRecords:
    """Return batches of two transactions, one of which was aborted, by turns."""
    data = bytearray()
    for number in range(8):
        producer_id = (COMMITTED, ABORTED)[number % 2]
        base_offset = number * len(values)
        data += batch(base_offset, values, producer_id=producer_id, is_transactional=True)
    return FetchedRecords("orders", 0, data, 0, aborted_transactions=[(ABORTED, 0)])


def columns(values: list[bytes]) -> tuple[int, int]:
    """Return how many records the columns have, and how many bytes reading them has taken."""
    records = fetched(values)
    tracemalloc.start()
    try:
        spans = []
        while (span := records.next_span(1_000_000)) is not None:
            spans.append(span)
        table = ConsumerRecords[bytes, bytes](spans).to_arrow(["offset", "value"])
        return table.num_rows, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_aborted_records_are_left_out_without_an_object_for_any() -> None:
    columns([b"v"])  # what is imported and cached is there from now on

    count, taken = columns([b"v"] * COUNT)

    assert count == 4 * COUNT
    assert taken < MOST_BYTES_PER_RECORD * count
