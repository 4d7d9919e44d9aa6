"""The cost of decoding bytes of a hostile peer, in steps and memory, not in seconds.

A step is a line of Python that ran. Four times the bytes may cost four times as much. A length or a
count beyond the bytes that follow may cost nothing.
"""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType, ModuleType
from typing import Any

import pytest

from pyk.protocol import MalformedMessageError, Message, known_messages, message_class
from pyk.protocol import records as loaded
from pyk.protocol.codec.decoder import compile_decoder
from pyk.protocol.records import RecordBatchError
from pyk.protocol.records.varint import encode_varint
from support.broken_messages import Sample, claiming, sample_of, spliced
from support.garbage import without_garbage_collection
from support.plain_form import PlainForm
from support.record_batches import raw_batch, record
from support.table_codec import varint

NAMES = known_messages()
PLAIN = PlainForm("pyk.protocol.records")

ELEMENTS = 30
ROUNDED = 1.25  # lists allocate more than they need
KEPT_BYTES = 80 * 72  # freed lists that Python keeps: they do not count when used again
ERROR_BYTES = 8 * 1024  # of an error with its traceback
BYTES_PER_BYTE = 64  # a struct of three bytes becomes an object with room for all its fields

TAGS = b"".join(varint(tag) + b"\0" for tag in range(200, 3200))
EXPENSIVE = {
    "structs of three bytes": (
        "ProduceRequest",
        12,
        b"\0" + bytes(6) + varint(3001) + b"\1\1\0" * 3000 + b"\0",
    ),
    "empty strings": ("DescribeGroupsRequest", 5, varint(3001) + b"\1" * 3000 + b"\0\0"),
    "numbers": (
        "OffsetFetchRequest",
        6,
        b"\2g" + b"\2" + b"\2t" + varint(3001) + b"some" * 3000 + b"\0\0",
    ),
    "tags without a value": ("MetadataRequest", 9, bytes(4) + varint(3000) + TAGS),
    "counts that claim all that is left, at every level": (
        "MetadataResponse",
        12,
        bytes(4) + b"\1\0" + bytes(4) + varint(690) + b"\0\0\2t" + bytes(17) + varint(990)
        + bytes(18000),
    ),
}  # fmt: skip
HEADERS = [(b"h", b"v")] * 10
CLAIMS = {
    "records": raw_batch(record(), (1 << 31) - 1),
    "a record": raw_batch(encode_varint((1 << 31) - 1) + record(), 1),
    "headers": raw_batch(b"\x12\0\0\0\1\1" + encode_varint((1 << 24) - 1), 1),
    "a key": raw_batch(b"\x10\0\0\0" + encode_varint((1 << 24) - 1) + b"\1", 1),
}


@pytest.mark.parametrize("name", NAMES)
def test_lengths_and_counts_beyond_the_bytes_of_a_message_take_no_memory(name: str) -> None:
    for sample in _first_and_last_version(name):
        sound = peak_memory(partial(sample.cls.decode, sample.data, sample.version))
        for broken in claiming(sample):
            work = partial(decode_or_refuse, sample.cls, sample.version, broken.data)

            limit = sound + ERROR_BYTES + len(broken.data)
            assert takes_at_most(limit, work), broken.what


@pytest.mark.parametrize("what", EXPENSIVE)
def test_the_most_expensive_messages_take_memory_in_proportion_to_their_bytes(what: str) -> None:
    name, version, data = EXPENSIVE[what]

    work = partial(decode_or_refuse, message_class(name), version, data)

    assert takes_at_most(ERROR_BYTES + BYTES_PER_BYTE * len(data), work)


@pytest.mark.parametrize("name", NAMES)
def test_more_elements_cost_steps_and_memory_in_proportion(name: str) -> None:
    for sample in _first_and_last_version(name):
        for few, many in zip(
            _with_elements(sample, ELEMENTS), _with_elements(sample, 4 * ELEMENTS), strict=True
        ):
            generated = compile_decoder(sample.cls, sample.version)
            assert steps(partial(generated, many, 0)) <= 4 * steps(partial(generated, few, 0))
            work, less = (partial(sample.cls.decode, data, sample.version) for data in (many, few))
            for_few = max(peak_memory(less) for _ in range(3))
            assert takes_at_most(4 * (for_few + KEPT_BYTES) * ROUNDED, work)


@pytest.mark.parametrize("what", CLAIMS)
def test_lengths_and_counts_beyond_the_bytes_of_a_batch_take_no_memory(what: str) -> None:
    assert takes_at_most(ERROR_BYTES, partial(read_or_refuse, CLAIMS[what]))


@pytest.mark.parametrize(
    ("few", "many"),
    [
        pytest.param([record(i) for i in range(10)], [record(i) for i in range(40)], id="records"),
        pytest.param(
            [record(headers=[(b"h", b"v")] * 10)],
            [record(headers=[(b"h", b"v")] * 40)],
            id="headers",
        ),
    ],
)
def test_more_records_and_headers_cost_steps_in_proportion(
    few: list[bytes], many: list[bytes]
) -> None:
    less, more = (raw_batch(b"".join(records), len(records)) for records in (few, many))

    with PLAIN.imported() as plain:
        assert steps(lambda: read_all(plain, more)) <= 4 * steps(lambda: read_all(plain, less))


def _first_and_last_version(name: str) -> Iterator[Sample]:
    versions = message_class(name).versions
    for version in sorted({versions.lowest, versions.highest}):
        yield sample_of(name, version)


def _with_elements(sample: Sample, elements: int) -> Iterator[bytes]:
    """Return samples in which one array has ``count`` elements instead of one, for each array."""
    for number, piece in enumerate(sample.pieces):
        if piece.role in ("classic count", "compact count"):
            is_compact = piece.role == "compact count"
            count = varint(elements + 1) if is_compact else elements.to_bytes(4)
            element = b"".join(part.data for part in sample.pieces[number + 1 : piece.end])
            yield spliced(sample.pieces, number, piece.end, count + element * elements)


def decode_or_refuse(cls: type[Message], version: int, data: bytes) -> Any:
    try:
        return cls.decode(data, version)
    except MalformedMessageError as error:
        return error


def read_all(records: ModuleType, data: bytes) -> list[Any]:
    return [record for batch in records.read_batches(data) for record in batch]


def read_or_refuse(data: bytes) -> Any:
    try:
        return read_all(loaded, data)
    except RecordBatchError as error:
        return error


def steps(work: Callable[[], Any]) -> int:
    """Return how many lines of Python ``work`` runs."""
    work()  # create lazily created objects before measuring
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    with without_garbage_collection():
        sys.settrace(trace)
        try:
            work()
        finally:
            sys.settrace(before)
    return count


def takes_at_most(limit: float, work: Callable[[], Any]) -> bool:
    """Return whether ``work`` allocates at most so many bytes at a time.

    Threads of earlier tests are measured, too: one measurement within the limit is enough.
    """
    return any(peak_memory(work) <= limit for _ in range(25))


def peak_memory(work: Callable[[], Any]) -> int:
    """Return the peak of the bytes that ``work`` allocated, with its result."""
    work()  # create lazily created objects before measuring
    tracemalloc.start()
    try:
        result = work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        del result
