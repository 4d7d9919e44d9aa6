from __future__ import annotations

import gc
from typing import Any

import pytest

from pyk.clients import AcknowledgeType, StateError, TopicPartition
from pyk.clients.consumer.buffer.read_buffer import CLOSED, EVENT
from pyk.clients.consumer.records.deserializers import Deserializers
from pyk.clients.errors import DeserializationError
from pyk.clients.share.acquired_records import AcquiredRecords
from pyk.clients.share.held_records import HeldRecords
from pyk.clients.share.share_buffer import ShareBuffer
from pyk.clients.share.share_reader import ShareReader
from support.acquired import acquired_records
from support.record_batches import raw_batch, sealed
from support.record_batches import record as raw_record

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT
ORDERS_0 = TopicPartition("orders", 0)


def reader_of(*fetches: Any, is_explicit: bool = True) -> tuple[ShareReader, ShareBuffer]:
    """Return a reader of acquired records."""
    buffer = ShareBuffer(lambda: None, lambda: None)
    for acquired in fetches:
        buffer.append(acquired)
    reader = ShareReader(buffer, Deserializers(None, None), lambda: 0.0, is_explicit=is_explicit)
    return reader, buffer


def polled(reader: ShareReader, max_records: int = 100) -> list[Any]:
    """Return the records of one poll."""
    spans, _ = reader.take(max_records)
    reader.is_under_way = False
    return [record for span in spans for record in span]


def held_of(reader: ShareReader) -> HeldRecords:
    assert reader.held is not None
    return reader.held


def outcomes(buffer: ShareBuffer) -> list[tuple[int, int, int]]:
    return [(first, last, kind) for _, first, last, kind in buffer.outbox]


def ten(base_offset: int = 0) -> Any:
    data = sealed(*[b"%d" % n for n in range(10)], base_offset=base_offset)
    return acquired_records(data, [(base_offset, base_offset + 9, 1)])


@pytest.mark.parametrize("step", [1, -1, 3, 7])
def test_records_may_be_acknowledged_in_any_order(step: int) -> None:
    reader, buffer = reader_of(ten(), ten(20))
    records = polled(reader)

    for index in range(20):
        assert reader.acknowledge(records[index * step % 20], ACCEPT)
        assert held_of(reader).undecided == 19 - index
    reader.come_back()

    assert outcomes(buffer) == [(0, 9, 1), (20, 29, 1)]


def test_each_record_may_be_acknowledged_differently() -> None:
    reader, buffer = reader_of(ten())

    for record in polled(reader):
        assert reader.acknowledge(record, (ACCEPT, REJECT, RELEASE)[record.offset % 3])
    reader.come_back()

    assert outcomes(buffer) == [(n, n, (1, 3, 2)[n % 3]) for n in range(10)]


def test_a_record_may_be_acknowledged_otherwise_until_that_is_sent() -> None:
    reader, buffer = reader_of(ten())
    records = polled(reader)
    for record in records:
        reader.acknowledge(record, ACCEPT)

    assert reader.acknowledge(records[4], RELEASE)
    assert held_of(reader).undecided == 0
    reader.come_back()

    assert outcomes(buffer) == [(0, 3, 1), (4, 4, 2), (5, 9, 1)]
    assert not reader.acknowledge(records[4], ACCEPT)


def test_the_next_poll_says_how_many_records_are_not_acknowledged() -> None:
    reader, _ = reader_of(ten(), ten(20))
    records = polled(reader, 13)
    for record in records[1:]:
        reader.acknowledge(record, ACCEPT)

    with pytest.raises(StateError, match=r"1 record must be acknowledged before the next poll"):
        reader.take(100)


def test_of_a_batch_that_two_polls_divide_only_the_first_half_can_be_acknowledged() -> None:
    reader, _ = reader_of(ten())
    first = polled(reader, 4)
    for record in first:
        reader.acknowledge(record, ACCEPT)
    second = polled(reader, 4)

    assert not reader.acknowledge(first[0], ACCEPT)
    assert reader.acknowledge(second[0], ACCEPT)
    assert held_of(reader).undecided == 3


@pytest.mark.parametrize("reason", [EVENT, CLOSED])
def test_a_call_looks_first_if_anything_has_happened(reason: int) -> None:
    reader, buffer = reader_of(ten())
    (record, *_) = polled(reader)
    buffer.call_attention(reason)

    assert not reader.acknowledge(record, ACCEPT)
    assert outcomes(buffer) == []


@pytest.mark.parametrize("kind", [1, True, "ACCEPT", None])
def test_only_a_type_is_taken_at_once(kind: object) -> None:
    reader, _ = reader_of(ten())
    (record, *_) = polled(reader)

    assert not reader.acknowledge(record, kind)
    assert not reader.acknowledge("record", ACCEPT)


def test_nothing_is_held_with_implicit_acknowledgement() -> None:
    reader, _ = reader_of(ten(), is_explicit=False)
    (record, *_) = polled(reader)

    assert not reader.acknowledge(record, ACCEPT)


def test_a_record_of_another_fetch_or_consumer_is_not_held() -> None:
    reader, _ = reader_of(ten())
    polled(reader)
    other, _ = reader_of(ten())
    (foreign, *_) = polled(other)

    assert not reader.acknowledge(foreign, ACCEPT)
    assert held_of(reader).undecided == 10


@pytest.mark.parametrize("offset", [-1, 10, 2**63, 10**30, -(10**30)])
def test_no_record_is_found_at_an_offset_that_none_has(offset: int) -> None:
    reader, _ = reader_of(ten())
    polled(reader)
    reader.hold_handed()

    with pytest.raises(StateError, match=f"no record of orders-0 at offset {offset} waits"):
        held_of(reader).find(ORDERS_0, offset)


def test_a_record_is_found_by_its_partition_and_offset() -> None:
    reader, buffer = reader_of(ten(), ten(20))
    polled(reader)
    reader.hold_handed()
    held = held_of(reader)

    acquired = held.find(ORDERS_0, 23)
    for partition in (TopicPartition("orders", 1), TopicPartition("bills", 0)):
        with pytest.raises(StateError, match="waits to be acknowledged"):
            held.find(partition, 23)
    held.acknowledge(acquired, 23, REJECT)
    for offset in (*range(10), 20, 21, 22, *range(24, 30)):
        held.acknowledge(held.find(ORDERS_0, offset), offset, ACCEPT)
    reader.come_back()

    assert outcomes(buffer) == [(0, 9, 1), (20, 22, 1), (23, 23, 3), (24, 29, 1)]
    with pytest.raises(StateError, match="offset 23 cannot be acknowledged: that was done already"):
        held.acknowledge(acquired, 23, ACCEPT)


def test_a_record_whose_acknowledgement_was_sent_is_not_found_beside_others() -> None:
    reader, _ = reader_of(ten())
    polled(reader)
    reader.hold_handed()
    held = held_of(reader)
    held.acknowledge(held.find(ORDERS_0, 3), 3, ACCEPT)

    held.send_decided()

    held.find(ORDERS_0, 4)
    with pytest.raises(StateError, match="no record of orders-0 at offset 3 waits"):
        held.find(ORDERS_0, 3)


def test_an_offset_that_a_batch_has_lost_by_compaction_is_no_record() -> None:
    sparse = raw_batch(raw_record(2) + raw_record(5), 2, last_offset_delta=9)
    reader, buffer = reader_of(acquired_records(sparse, [(0, 9, 1)]))
    records = polled(reader)
    reader.hold_handed()
    held = held_of(reader)

    with pytest.raises(StateError, match="no record of orders-0 at offset 3"):
        held.find(ORDERS_0, 3)
    for each in records:
        assert reader.acknowledge(each, ACCEPT)
    assert held.undecided == 0
    reader.come_back()

    assert outcomes(buffer) == [(0, 1, 0), (2, 2, 1), (3, 4, 0), (5, 5, 1), (6, 9, 0)]


def test_what_could_not_be_handed_out_is_released_unless_it_is_acknowledged() -> None:
    def refuse(value: bytes) -> bytes:
        if value in (b"2", b"5"):
            raise ValueError(value)
        return value

    buffer = ShareBuffer(lambda: None, lambda: None)
    buffer.append(ten())
    reader = ShareReader(buffer, Deserializers(None, refuse), lambda: 0.0, is_explicit=True)
    seen: list[int] = []
    while len(seen) < 8:
        try:
            for each in reader.take(100)[1] or ():
                seen.append(each.offset)
                reader.is_under_way = False
                assert reader.acknowledge(each, ACCEPT)
            reader.is_under_way = False
        except DeserializationError as error:
            if error.record.offset == 5:
                held = held_of(reader)
                held.acknowledge(held.find(ORDERS_0, 5), 5, REJECT)
    reader.come_back()

    said = [
        (offset, kind)
        for first, last, kind in outcomes(buffer)
        for offset in range(first, last + 1)
    ]
    assert seen == [0, 1, 3, 4, 6, 7, 8, 9]
    assert sorted(said) == [(n, {2: 2, 5: 3}.get(n, 1)) for n in range(10)]


def test_what_is_decided_can_be_sent_while_the_rest_waits() -> None:
    reader, buffer = reader_of(ten(), ten(20))
    records = polled(reader)
    for each in records[2:11]:
        reader.acknowledge(each, ACCEPT)
    reader.finish()

    assert outcomes(buffer) == [(2, 9, 1), (20, 20, 1)]
    for each in (*records[:2], *records[11:]):
        reader.acknowledge(each, RELEASE)
    reader.finish()
    assert outcomes(buffer)[2:] == [(0, 1, 2), (21, 29, 2)]


@pytest.fixture
def no_collector() -> Any:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def alive() -> int:
    return sum(type(one) is AcquiredRecords for one in gc.get_objects())


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("kinds", [(ACCEPT,), (REJECT, RELEASE), (ACCEPT, AcknowledgeType.RENEW)])
@pytest.mark.parametrize("is_iterated", [False, True])
def test_acknowledged_records_leave_memory_without_a_run_of_the_collector(
    kinds: tuple[AcknowledgeType, ...], is_iterated: bool
) -> None:
    before = alive()
    reader, buffer = reader_of(ten(), ten(20))
    taken = 0
    while taken < 20 + 10 * (AcknowledgeType.RENEW in kinds):
        if is_iterated:
            record = reader.next_record()
            if record is None:
                assert reader.open_span()
                continue
            records = [record]
        else:
            records = polled(reader, 4)
        for record in records:
            is_again = taken >= 20
            reader.acknowledge(record, ACCEPT if is_again else kinds[taken % len(kinds)])
            taken += 1
        if not is_iterated or taken == 20:
            reader.come_back()
        for acquired, first, last, kind in buffer.outbox:
            if kind == AcknowledgeType.RENEW:
                buffer.hand_out_again(acquired, first, last, 30.0)
        buffer.outbox.clear()
    reader.come_back()

    del reader, buffer, acquired, record, records
    assert alive() == before
