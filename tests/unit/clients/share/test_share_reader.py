"""The application's side of acquired records: what it gets, and what becomes of it."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients import StateError
from pyk.clients.consumer.buffer.read_buffer import EVENT
from pyk.clients.consumer.records.deserializers import Deserializers
from pyk.clients.errors import CorruptRecordError, DeserializationError
from pyk.clients.share.acknowledge_type import AcknowledgeType
from pyk.clients.share.share_buffer import ShareBuffer
from pyk.clients.share.share_reader import ShareReader
from support.acquired import LOCKED_UNTIL, acquired_records
from support.record_batches import control_batch, raw_batch, record, sealed

GAP, ACCEPT, RELEASE = 0, 1, 2


class Reading:
    """One reader over acquired records, and what it asks of the loop."""

    def __init__(self, *fetches: Any, is_explicit: bool = False, refuses: bytes = b"-") -> None:
        self.rooms = 0
        self.now = 0.0
        self.buffer = ShareBuffer(lambda: None, self._room)
        for acquired in fetches:
            self.buffer.append(acquired)

        def deserialize(data: bytes | None) -> Any:
            if data == refuses:
                raise ValueError("not this one")
            return data

        deserializers = Deserializers(None, None if refuses == b"-" else deserialize)
        self.reader = ShareReader(
            self.buffer, deserializers, lambda: self.now, is_explicit=is_explicit
        )

    def _room(self) -> None:
        self.rooms += 1

    @property
    def outcomes(self) -> list[tuple[int, int, int]]:
        return [(first, last, kind) for _, first, last, kind in self.buffer.outbox]

    def poll(self, max_records: int = 100) -> list[int]:
        """Return the offsets of one poll that reaches the application."""
        spans, records = self.reader.take(max_records)
        self.reader.is_under_way = False
        found = [each for span in spans for each in span] if records is None else records
        return [each.offset for each in found]


def four(base_offset: int = 0) -> Any:
    data = sealed(b"0", b"1", b"2", b"3", base_offset=base_offset)
    return acquired_records(data, [(base_offset, base_offset + 3, 1)])


# -- one record at a time --------------------------------------------------------------------------


def test_each_record_is_accepted_once_another_one_is_asked_for() -> None:
    reading = Reading(four(), four(10))
    reader = reading.reader
    assert reader.open_span()

    assert [reader.next_record().offset for _ in range(4)] == [0, 1, 2, 3]
    assert reader.next_record() is None
    assert reading.outcomes == []
    assert reader.open_span()
    assert reading.outcomes == [(0, 3, ACCEPT)]
    assert reader.next_record().offset == 10
    assert reader.taken == 5


def test_attention_comes_before_the_next_record() -> None:
    reading = Reading(four())
    reading.reader.open_span()
    reading.buffer.call_attention(EVENT)

    assert reading.reader.next_record() is None
    reading.buffer.clear_attention(EVENT)
    assert reading.reader.next_record().offset == 0


def test_a_record_must_be_acknowledged_before_the_next_one() -> None:
    reading = Reading(four(), is_explicit=True)
    reader = reading.reader
    reader.open_span()
    first = reader.next_record()

    with pytest.raises(StateError, match="1 record must be acknowledged"):
        reader.next_record()
    assert reader.acknowledge(first, AcknowledgeType.ACCEPT)
    assert reader.next_record().offset == 1
    assert reader.taken == 2


def test_what_iteration_has_not_come_to_is_polled_next() -> None:
    reading = Reading(four())
    reading.reader.open_span()
    reading.reader.next_record()

    assert reading.poll() == [1, 2, 3]
    assert reading.outcomes == [(0, 0, ACCEPT)]


@pytest.mark.parametrize("last", [1, 3])
def test_a_part_that_iteration_has_left_at_its_last_record_leaves_gaps(last: int) -> None:
    data = raw_batch(record(0), 1, last_offset_delta=last)
    reading = Reading(acquired_records(data, [(0, last, 1)]))
    reader = reading.reader
    reader.open_span()
    reader.next_record()

    assert not reader.open_span()

    assert reading.outcomes == [(0, 0, ACCEPT), (1, last, GAP)]


def test_iteration_says_whether_it_waits() -> None:
    reading = Reading(four())
    reading.reader.open_span()
    assert (reading.buffer.wanted, reading.reader.calls) == (0, 1)
    reading.reader.come_back()
    reading.poll()

    assert not reading.reader.open_span()

    assert (reading.buffer.wanted, reading.reader.calls) == (1, 3)
    assert not reading.reader.is_under_way
    reading.buffer.append(four(10))
    assert reading.reader.open_span()
    assert reading.buffer.wanted == 0


def test_a_later_part_is_left_where_iteration_was() -> None:
    reading = Reading(four(), four(10))
    reader = reading.reader
    for count in (4, 1):
        reader.open_span()
        for _ in range(count):
            reader.next_record()

    assert reading.poll() == [11, 12, 13]
    reader.come_back()
    assert reading.outcomes == [(0, 3, ACCEPT), (10, 10, ACCEPT), (11, 13, ACCEPT)]


def test_a_part_is_left_once() -> None:
    reading = Reading(four())
    reading.reader.open_span()
    reading.reader.next_record()

    reading.reader.come_back()
    reading.reader.come_back()

    assert reading.outcomes == [(0, 0, ACCEPT)]
    assert reading.reader.next_record() is None
    assert reading.poll() == [1, 2, 3]


def test_a_part_of_which_nothing_was_taken_is_not_accepted() -> None:
    reading = Reading(four())
    reading.reader.open_span()

    reading.reader.come_back()

    assert reading.outcomes == []


def test_a_commit_accepts_what_iteration_has_given_and_leaves_the_part_open() -> None:
    reading = Reading(four())
    reader = reading.reader
    reader.open_span()
    reader.next_record()

    reader.finish()
    reader.finish()
    assert reading.outcomes == [(0, 0, ACCEPT)]
    assert reader.next_record().offset == 1


def test_what_an_application_says_of_iterated_records_is_all_that_is_said() -> None:
    reading = Reading(four(), is_explicit=True)
    reading.reader.open_span()
    assert reading.reader.acknowledge(reading.reader.next_record(), AcknowledgeType.REJECT)

    reading.reader.come_back()

    assert reading.outcomes == [(0, 0, int(AcknowledgeType.REJECT))]


def test_a_refused_record_is_released_alone_and_iteration_goes_on() -> None:
    reading = Reading(four(), refuses=b"1")
    reader = reading.reader
    reader.open_span()
    reader.next_record()

    with pytest.raises(DeserializationError, match="it was released"):
        reader.next_record()

    assert reading.outcomes == [(0, 0, ACCEPT), (1, 1, RELEASE)]
    assert [reader.next_record().offset for _ in range(2)] == [2, 3]
    reader.come_back()
    assert reading.outcomes[2:] == [(2, 3, ACCEPT)]


def test_what_comes_after_a_refused_record_is_polled_once() -> None:
    reading = Reading(four(), refuses=b"1")
    reader = reading.reader
    reader.open_span()
    reader.next_record()
    with pytest.raises(DeserializationError):
        reader.next_record()
    assert reader.next_record().offset == 2

    assert reading.poll() == [3]


def test_iteration_leaves_deserializing_to_a_caller_who_wants_it() -> None:
    reading = Reading(four(), refuses=b"0")
    reading.reader.deserialize(False)
    reading.reader.open_span()

    assert reading.reader.next_record().offset == 0


# -- many records ----------------------------------------------------------------------------------


def test_a_poll_takes_no_more_than_it_asks_for_and_accepts_the_one_before() -> None:
    reading = Reading(four(), four(10))

    assert reading.poll(6) == [0, 1, 2, 3, 10, 11]
    assert reading.outcomes == []
    assert reading.poll(6) == [12, 13]
    assert reading.outcomes == [(0, 3, ACCEPT), (10, 11, ACCEPT)]
    assert reading.reader.polled == 8


def test_a_poll_may_want_one_record() -> None:
    reading = Reading(four())

    assert reading.poll(1) == [0]
    assert reading.poll(1) == [1]
    assert reading.reader.calls == 2


def test_offsets_without_records_do_not_end_a_poll() -> None:
    reading = Reading(acquired_records(control_batch(1, base_offset=0), [(0, 0, 1)]), four(10))

    assert reading.poll() == [10, 11, 12, 13]
    assert reading.outcomes == [(0, 0, GAP)]


def test_a_poll_must_be_acknowledged_before_the_next_one() -> None:
    reading = Reading(four(), is_explicit=True)
    reading.poll()

    with pytest.raises(StateError, match="4 records must be acknowledged"):
        reading.reader.come_back()


def test_nothing_is_held_before_it_has_reached_the_application() -> None:
    reading = Reading(four(), is_explicit=True)
    reading.reader.take(100)  # and an interrupt

    reading.reader.hold_handed()

    assert reading.reader.held is not None
    assert reading.reader.held.undecided == 0


def test_a_poll_in_vain_says_how_many_records_it_wants() -> None:
    reading = Reading(four())
    reading.poll()
    assert reading.buffer.wanted == 0

    reading.reader.take(7)

    assert reading.buffer.wanted == 7
    assert not reading.reader.is_under_way
    assert reading.rooms == 2


def test_what_never_reached_the_application_is_handed_out_again() -> None:
    reading = Reading(four(), four(10))
    reading.reader.take(6)  # and an interrupt

    assert reading.poll(100) == [0, 1, 2, 3, 10, 11, 12, 13]
    assert reading.outcomes == []


def test_records_before_a_refused_one_come_first() -> None:
    reading = Reading(four(), four(10), refuses=b"2")

    assert reading.poll() == [0, 1]
    assert reading.reader.polled == 2
    rooms = reading.rooms
    with pytest.raises(DeserializationError) as refused:
        reading.reader.take(100)
    assert refused.value.offset == 2
    assert reading.rooms == rooms + 1
    assert not reading.reader.is_under_way
    assert reading.outcomes == [(0, 1, ACCEPT), (2, 2, RELEASE)]
    assert reading.buffer.wanted == 0
    assert reading.poll() == [3, 10, 11]


def test_a_refused_record_behind_other_parts_is_kept_for_the_next_poll() -> None:
    reading = Reading(four(), four(10), refuses=b"0")
    with pytest.raises(DeserializationError):
        reading.reader.take(100)

    assert reading.poll() == [1, 2, 3]
    with pytest.raises(DeserializationError) as refused:
        reading.reader.take(100)
    assert refused.value.offset == 10


def test_a_part_whose_only_record_is_refused_is_released_as_a_whole() -> None:
    reading = Reading(acquired_records(sealed(b"0"), [(0, 0, 1)]), refuses=b"0")

    with pytest.raises(DeserializationError):
        reading.reader.take(100)

    assert reading.outcomes == [(0, 0, RELEASE)]
    assert reading.poll() == []
    assert not reading.buffer.queue


def test_a_batch_that_cannot_be_read_is_released_after_what_can() -> None:
    broken = bytearray(sealed(b"b", base_offset=1))
    broken[-1] ^= 1
    ranges = [(0, 1, 1), (3, 4, 1)]
    reading = Reading(acquired_records(sealed(b"a") + bytes(broken), ranges))

    assert reading.poll() == [0]
    rooms = reading.rooms
    with pytest.raises(CorruptRecordError, match=r"orders-0 at offset 1.*released"):
        reading.reader.take(100)

    assert reading.outcomes == [(0, 0, ACCEPT), (1, 1, RELEASE), (3, 4, RELEASE)]
    assert reading.rooms == rooms + 1
    assert not reading.reader.is_under_way
    assert not reading.buffer.queue


def test_offsets_that_the_response_has_no_batch_for_are_released() -> None:
    reading = Reading(acquired_records(sealed(b"a"), [(0, 0, 1), (5, 6, 1)]))

    assert reading.poll() == [0]

    assert reading.outcomes == [(5, 6, RELEASE)]


def test_nothing_is_handed_out_whose_lock_is_over() -> None:
    reading = Reading(four())
    reading.now = LOCKED_UNTIL

    assert reading.poll() == []
    assert reading.buffer.expired == 4


def test_handlers_acknowledge_what_is_left_to_them() -> None:
    reading = Reading(four())
    reading.reader.leaves_to_handlers = True
    reading.poll()

    reading.reader.come_back()
    reading.reader.leaves_to_handlers = False
    reading.reader.come_back()

    assert reading.outcomes == []


def test_parts_that_a_caller_takes_over_are_not_accepted() -> None:
    reading = Reading(four(), four(10))
    reading.poll()

    assert [(part.first, part.last) for part in reading.reader.take_handed()] == [(0, 3), (10, 13)]
    reading.reader.come_back()

    assert reading.outcomes == []


def test_deserializers_may_be_left_to_the_caller() -> None:
    reading = Reading(four(), refuses=b"0")
    reading.reader.deserialize(False)

    spans, records = reading.reader.take(100)

    assert records is None
    assert [span.count for span in spans] == [4]
    without = Reading(four())
    without.reader.deserialize(True)
    assert without.reader.take(100)[1] is None


@pytest.mark.parametrize("attention", [0, EVENT])
def test_only_held_records_of_this_consumer_are_acknowledged_fast(attention: int) -> None:
    implicit = Reading(four())
    (first, *_) = implicit.reader.take(100)[0][0]
    assert not implicit.reader.acknowledge(first, AcknowledgeType.ACCEPT)

    reading = Reading(four(), is_explicit=True)
    spans, _ = reading.reader.take(100)
    reading.reader.is_under_way = False
    mine, *others = spans[0]
    reading.buffer.attention = attention
    assert not reading.reader.acknowledge("not a record", AcknowledgeType.ACCEPT)
    assert not reading.reader.acknowledge(mine, 1)
    assert not reading.reader.acknowledge(first, AcknowledgeType.ACCEPT)
    assert reading.reader.acknowledge(mine, AcknowledgeType.ACCEPT) is not bool(attention)
    assert len(others) == 3
