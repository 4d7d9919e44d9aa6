"""A batch has the records of its jobs, in their order, and no others."""

from __future__ import annotations

import pytest

from pyk.clients import JsonDeserializer, TopicPartition
from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.consumer.records.deserializers import Deserializers
from pyk.clients.errors import DeserializationError
from pyk.clients.processing.batches import records_of
from pyk.clients.processing.jobs import Job, Jobs, Ordering
from pyk.protocol.records import RecordIterator, RecordSpan, parse_batch
from support.record_batches import ORIGIN, sealed

BYTES = Deserializers(None, None)


def span_of(*values: bytes, base_offset: int = 0) -> RecordSpan:
    batch = parse_batch(memoryview(sealed(*values, base_offset=base_offset)))
    assert batch is not None
    return batch.open().span(ORIGIN)


def numbers(count: int, base_offset: int = 0) -> RecordSpan:
    values = [b"%d" % number for number in range(base_offset, base_offset + count)]
    return span_of(*values, base_offset=base_offset)


def jobs_of(*spans: RecordSpan) -> list[Job]:
    """Return a job for each record, which have no order."""
    jobs = Jobs(Ordering.NONE, 4)
    partition = jobs.begin(Assignment(TopicPartition("orders", 3)))
    for span in spans:
        jobs.add(partition, RecordIterator((span,)), span)
    found = []
    while (job := jobs.next()) is not None:
        found.append(job)
    return found


@pytest.mark.parametrize(
    "offsets",
    [
        [0, 1, 2, 3, 4, 5],
        [2, 3, 4],
        [1, 4],
        [5],
        [0, 3, 2],  # as many as are from the first to the last, but others
        [0, 2, 1, 3],
        [4, 5, 1],
    ],
)
@pytest.mark.parametrize("deserializers", [BYTES, Deserializers(None, bytes)], ids=["raw", "read"])
def test_a_batch_has_the_records_of_its_jobs_in_their_order(offsets, deserializers):
    jobs = jobs_of(numbers(6))

    records = records_of([jobs[offset] for offset in offsets], deserializers)

    assert len(records) == len(offsets)
    assert [record.offset for record in records] == offsets
    assert records.to_arrow(["offset"]).to_pydict() == {"offset": offsets}


def test_a_batch_goes_on_over_what_several_fetches_have_read():
    jobs = jobs_of(numbers(3), numbers(2, 3), numbers(3, 5))

    records = records_of([*jobs[1:7], jobs[0]], BYTES)

    assert [record.value for record in records] == [b"1", b"2", b"3", b"4", b"5", b"6", b"0"]


def test_neighbours_are_one_part_of_what_was_read():
    records = records_of(jobs_of(numbers(6))[1:5], BYTES)

    assert [len(span) for span in records._spans] == [4]


def test_the_records_of_a_batch_are_created_on_access_where_nothing_deserializes_them():
    jobs = jobs_of(numbers(3))

    assert records_of(jobs, BYTES)._records is None
    assert records_of(jobs, Deserializers(bytes, None))._records is not None


def test_a_batch_with_a_record_that_cannot_be_deserialized_has_no_records():
    jobs = jobs_of(span_of(b"1", b"{", b"3", base_offset=7))
    deserializers = Deserializers(None, JsonDeserializer())

    assert records_of([jobs[0], jobs[2]], deserializers)[1].value == 3
    with pytest.raises(DeserializationError, match="orders-3 at offset 8"):
        records_of(jobs, deserializers)
