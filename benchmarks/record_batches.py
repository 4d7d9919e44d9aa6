"""Measure the CPU nanoseconds of one record in ``pyk.protocol.records``, in the loaded form.

Run it as ``python benchmarks/record_batches.py [VALUE_BYTES]``; 100 is the default. Each figure is
the best of several rounds, including the loop of the caller if there is one.
"""

from __future__ import annotations

import sys
import time
from array import array
from collections.abc import Callable

from pyk.protocol.records import (
    BinaryColumn,
    Compression,
    FetchedRecords,
    RecordBatchBuilder,
    RecordIterator,
    read_batches,
    read_columns,
    reader,
)

RECORDS_PER_BATCH = 4_096
ROUNDS = 15
NOW_MS = 1_700_000_000_000


def cost(work: Callable[[], object], records: int) -> float:
    """Return the CPU nanoseconds per record of the fastest round."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time_ns()
        work()
        best = min(best, (time.process_time_ns() - start) / records)
    return best


def sealed(values: list[bytes], compression: Compression = Compression.NONE) -> memoryview:
    builder = RecordBatchBuilder(compression, max_bytes=1 << 30)
    builder.extend_values(NOW_MS, values)
    return builder.seal()


def column(values: list[bytes]) -> BinaryColumn:
    offsets = array("i", [0])
    for value in values:
        offsets.append(offsets[-1] + len(value))
    return BinaryColumn(len(values), offsets, b"".join(values))


def new_builder() -> RecordBatchBuilder:
    return RecordBatchBuilder(max_bytes=1 << 30)


def loop_over(values: list[bytes]) -> None:
    for _ in values:
        pass


def append_cases(values: list[bytes]) -> dict[str, Callable[[], object]]:
    key, headers = b"fourteen bytes", [("trace", b"0123456789abcdef")]
    source = column(values)

    def append_values() -> None:
        append = new_builder().append
        for value in values:
            append(NOW_MS, None, value)

    def append_keyed() -> None:
        append = new_builder().append
        for value in values:
            append(NOW_MS, key, value)

    def append_with_header() -> None:
        append = new_builder().append
        for value in values:
            append(NOW_MS, key, value, headers)

    def append_and_seal() -> None:
        one = new_builder()
        append = one.append
        for value in values:
            append(NOW_MS, None, value)
        one.seal()

    return {
        "the caller's loop alone": lambda: loop_over(values),
        "append, no key": append_values,
        "append, 14-byte key": append_keyed,
        "append, key and header": append_with_header,
        "append and seal": append_and_seal,
        "extend_values, from a list": lambda: new_builder().extend_values(NOW_MS, values),
        "extend_columns, from Arrow's buffers": lambda: new_builder().extend_columns(
            NOW_MS, source
        ),
    }


def read_cases(data: memoryview) -> dict[str, Callable[[], object]]:
    def spans() -> list[object]:
        records = FetchedRecords("orders", 0, data, 0)
        return list(iter(lambda: records.next_span(1 << 30), None))

    def check_crc() -> None:
        for _ in read_batches(data):
            pass

    def open_batches() -> None:
        for batch in read_batches(data):
            batch.open()

    def untouched() -> None:
        for _ in RecordIterator(spans()):
            pass

    def values() -> None:
        for record in RecordIterator(spans()):
            record.value

    def plain_records() -> None:
        for batch in read_batches(data):
            for record in batch:
                record.value

    return {
        "read_batches: header and CRC": check_crc,
        "open: every record checked": open_batches,
        "consumer records, untouched": untouched,
        "consumer records, reading .value": values,
        "records of a batch, reading .value": plain_records,
        "columns: value": lambda: read_columns(spans(), ("value",)),
        "columns: offset, timestamp, key, value": lambda: read_columns(
            spans(), ("offset", "timestamp", "key", "value")
        ),
        "columns: all, headers too": lambda: read_columns(spans()),
    }


def main() -> None:
    value_bytes = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    values = [str(index).encode().ljust(value_bytes, b".") for index in range(RECORDS_PER_BATCH)]
    form = "compiled" if reader.__file__.endswith((".so", ".pyd")) else "plain Python"
    print(f"{form} form, values of {value_bytes} bytes, {RECORDS_PER_BATCH} records a batch\n")
    for name, work in append_cases(values).items():
        print(f"{name:<42}{cost(work, len(values)):8.1f} ns")
    print()
    for name, work in read_cases(sealed(values)).items():
        print(f"{name:<42}{cost(work, len(values)):8.1f} ns")


if __name__ == "__main__":
    main()
