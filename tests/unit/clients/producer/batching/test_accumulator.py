"""Where application threads and the sender meet."""

from __future__ import annotations

import threading
from random import Random

import pytest

from pyk.clients.errors import ClosedError
from pyk.clients.producer.batching.budget import RoomRequest
from pyk.clients.producer.batching.open_batches import NEVER
from pyk.clients.producer.batching.row_source import RecordRows, ValueRows
from pyk.protocol.records import RecordBatchBuilder
from pyk.runtime.virtual_time import VirtualClock
from support.producer_parts import (
    Wakeups,
    make_accumulator,
    put,
    take_all,
    values_of,
)


def test_records_of_a_partition_stay_in_order_through_batches():
    accumulator = make_accumulator(batch_size=200)
    values = [b"value %d" % n for n in range(50)]

    put(accumulator, *values)

    batches = values_of(take_all(accumulator))
    assert len(batches) > 3
    assert [value for batch in batches for value in batch] == values


def test_a_batch_lingers_before_it_is_due():
    clock = VirtualClock(10.0)
    accumulator = make_accumulator(clock, linger=0.005)
    put(accumulator, b"a")

    assert accumulator.drain.take(10.004) == ([], [])
    assert accumulator.drain.next_linger_end() == 10.005
    full, due = accumulator.drain.take(10.005)
    assert full == []
    assert [batch.count for batch in due] == [1]


def test_a_batch_is_due_once_and_grows_until_it_is_closed():
    accumulator = make_accumulator()
    put(accumulator, b"a")
    (batch,) = accumulator.drain.take(NEVER)[1]

    put(accumulator, b"b")

    assert accumulator.drain.take(NEVER) == ([], [])
    assert accumulator.drain.close(batch)
    assert batch.count == 2


def test_a_due_batch_that_becomes_full_comes_as_full_and_cannot_be_closed_twice():
    accumulator = make_accumulator(batch_size=200)
    put(accumulator, b"a")
    (batch,) = accumulator.drain.take(NEVER)[1]

    put(accumulator, b"x" * 150)

    assert not accumulator.drain.close(batch)
    assert accumulator.drain.take(0.0)[0][0] is batch


def test_the_sender_is_woken_once_for_the_first_linger_and_once_for_a_full_batch():
    wakeups = Wakeups()
    accumulator = make_accumulator(wakeups=wakeups, batch_size=200)
    accumulator.drain.take(0.0)

    put(accumulator, b"a", b"b")
    assert wakeups.count == 1
    accumulator.drain.take(0.0)
    put(accumulator, b"c")
    assert wakeups.count == 1
    put(accumulator, b"x" * 150, b"y" * 150)
    assert wakeups.count == 2


def test_the_sender_is_not_woken_before_its_first_look():
    wakeups = Wakeups()
    accumulator = make_accumulator(wakeups=wakeups, batch_size=1)

    put(accumulator, *[b"value"] * 100)

    assert wakeups.count == 0


def test_each_record_goes_by_itself_with_batch_size_zero():
    accumulator = make_accumulator(batch_size=0)

    put(accumulator, b"a", b"b")

    assert [batch.count for batch in accumulator.drain.take(0.0)[0]] == [1, 1]


def test_records_without_a_partition_fill_one_batch_before_the_next_partition():
    accumulator = make_accumulator(partitions=6, batch_size=300)

    put(accumulator, *[b"x" * 50] * 200, partition=-1)

    full, _ = accumulator.drain.take(0.0)
    assert {batch.count for batch in full} == {4}
    assert len({batch.partition for batch in full}) == 6


class InTurn(Random):
    """Chooses one after the other."""

    chosen = -1

    def randrange(self, stop):
        self.chosen = (self.chosen + 1) % stop
        return self.chosen


def test_a_batch_that_the_next_record_did_not_fit_into_is_the_last_of_its_partition():
    accumulator = make_accumulator(partitions=6, batch_size=300, is_adaptive=False, random=InTurn())

    put(accumulator, *[b"x" * 50] * 13, partition=-1)

    full, _ = accumulator.drain.take(0.0)
    assert [(batch.partition, batch.count) for batch in full] == [(0, 4), (1, 4), (2, 4)]


def test_records_without_a_partition_stay_until_a_batch_of_bytes_went_there():
    accumulator = make_accumulator(partitions=6, batch_size=300, is_adaptive=False, random=InTurn())

    taken = []
    for _ in range(4):
        put(accumulator, b"x" * 50, partition=-1)
        taken += take_all(accumulator)

    assert [batch.partition for batch in taken] == [0, 0, 0, 1]


def test_records_without_a_partition_join_the_batch_that_is_open_where_they_went():
    accumulator = make_accumulator(partitions=6, batch_size=300)
    put(accumulator, b"x" * 300, partition=-1)
    (full,) = accumulator.drain.take(0.0)[0]

    put(accumulator, b"a", partition=full.partition)
    put(accumulator, b"b", partition=-1)

    assert [batch.count for batch in accumulator.drain.take(NEVER)[1]] == [2]


def test_a_partition_that_is_stuck_gets_less():
    accumulator = make_accumulator(partitions=2, batch_size=300, buffer_memory=1 << 30)
    counts = [0, 0]
    for _ in range(500):
        put(accumulator, *[b"x" * 50] * 4, partition=-1)
        for batch in accumulator.drain.take(0.0)[0]:
            counts[batch.partition] += 1
            if batch.partition == 1:
                accumulator.drain.release(batch)

    assert counts[1] > 10 * counts[0]


def test_partitions_without_a_leader_are_left_out_while_others_have_one():
    accumulator = make_accumulator(batch_size=100)
    accumulator.topic("orders", 4, [2])

    put(accumulator, *[b"x" * 90] * 20, partition=-1)

    assert {batch.partition for batch in accumulator.drain.take(0.0)[0]} == {2}


def test_a_closed_producer_refuses_new_calls_and_waiting_ones():
    accumulator = make_accumulator(buffer_memory=1_000)
    put(accumulator, b"x" * 900)
    woken = Wakeups()
    request = RoomRequest(500)
    accumulator.waits.request_room(request, woken)

    accumulator.admission.refuse(ClosedError("closed"))

    assert woken.count == 1
    assert not request.is_granted
    with pytest.raises(ClosedError):
        put(accumulator, b"a")


WRONG_HEADERS = (("\ud800", b""),)


def put_wrong_record(accumulator):
    accumulator.append(accumulator.topics["orders"], 0, 1, None, b"value", WRONG_HEADERS)


def extend_with_wrong_record(accumulator):
    rows = RecordRows([(1, None, b"value", WRONG_HEADERS)])
    accumulator.extend(accumulator.topics["orders"], 0, rows, 0, None)


@pytest.mark.parametrize("give", [put_wrong_record, extend_with_wrong_record])
def test_a_record_that_cannot_be_encoded_leaves_nothing_behind(give):
    accumulator = make_accumulator()

    with pytest.raises(UnicodeEncodeError):
        give(accumulator)

    assert accumulator.drain.unfinished_batches == 0
    assert accumulator.budget.available == accumulator.budget.total
    assert take_all(accumulator) == []
    assert put(accumulator, b"next") != [None]


def put_one(accumulator, values):
    return put(accumulator, *values)


def extend(accumulator, values, room=None):
    topic = accumulator.topics["orders"]
    return accumulator.extend(topic, 0, ValueRows(1_000, values), 0, room)


@pytest.mark.parametrize("give", [put_one, extend])
def test_a_batch_that_is_exactly_full_does_not_linger(give):
    measured = make_accumulator()
    give(measured, [b"a"])
    size = measured.drain.take(NEVER)[1][0].size
    accumulator = make_accumulator(batch_size=size, linger=60.0)

    give(accumulator, [b"a"])

    assert [batch.count for batch in accumulator.drain.take(0.0)[0]] == [1]


class Interrupt(BaseException):
    """What the handler of a signal raises."""


@pytest.mark.parametrize("give", [put_one, extend])
def test_the_sender_is_woken_for_a_full_batch_although_the_next_record_was_interrupted(give):
    builders = [RecordBatchBuilder(max_bytes=200)]

    def new_builder(max_bytes: int) -> RecordBatchBuilder:
        if not builders:
            raise Interrupt
        return builders.pop()

    wakeups = Wakeups()
    accumulator = make_accumulator(wakeups=wakeups, batch_size=200, new_builder=new_builder)
    put(accumulator, b"x" * 100)
    accumulator.drain.take(0.0)

    with pytest.raises(Interrupt):
        give(accumulator, [b"y" * 100])

    assert wakeups.count == 1
    assert [batch.count for batch in accumulator.drain.take(0.0)[0]] == [1]


def test_the_sender_is_woken_again_if_waking_it_was_interrupted():
    interrupts = [Interrupt]
    woken = []

    def wake() -> None:
        if interrupts:
            raise interrupts.pop()
        woken.append(None)

    accumulator = make_accumulator(wakeups=wake)
    accumulator.drain.take(0.0)

    with pytest.raises(Interrupt):
        put(accumulator, b"a")

    assert woken == [None]


def test_unused_room_for_many_records_is_released():
    accumulator = make_accumulator(buffer_memory=1_000, batch_size=1_000)
    room = RoomRequest(accumulator.bulk_size)
    accumulator.waits.request_room(room, lambda: None)
    assert room.is_granted

    extend(accumulator, [b"x" * 100], room)

    (batch,) = take_all(accumulator)
    assert 0 < batch.charged_bytes < 200
    assert accumulator.budget.available == 1_000 - batch.charged_bytes
    accumulator.drain.release(batch)
    assert accumulator.budget.available == 1_000


def test_new_partitions_are_used_and_vanished_ones_keep_their_batches():
    accumulator = make_accumulator()
    put(accumulator, b"a")

    topic = accumulator.topic("orders", 3, [0, 1, 2])
    accumulator.append(topic, 2, 1, None, b"b", ())
    accumulator.topic("orders", 1, [0])

    assert [batch.partition for batch in take_all(accumulator)] == [0, 2]


def test_a_topic_is_forgotten_when_nothing_was_sent_to_it_for_a_while():
    clock = VirtualClock(10.0)
    accumulator = make_accumulator(clock)
    clock.advance(100.0)
    put(accumulator, b"a")
    (batch,) = take_all(accumulator)

    assert accumulator.forget_idle(NEVER) == [], "a batch is under way"
    accumulator.drain.release(batch)
    assert accumulator.forget_idle(110.0) == []
    assert accumulator.forget_idle(111.0) == ["orders"]


def test_a_send_in_the_middle_of_another_is_refused_and_disturbs_nothing() -> None:
    """The collector may run a finalizer anywhere, which closes a log handler that produces."""
    refused: list[str] = []

    def new_builder(max_bytes: int) -> RecordBatchBuilder:
        if not refused:
            with pytest.raises(RuntimeError, match="in the middle of its own send") as error:
                put(accumulator, b"finalizer")
            refused.append(str(error.value))
        return RecordBatchBuilder(max_bytes=max_bytes)

    accumulator = make_accumulator(new_builder=new_builder)

    deliveries = put(accumulator, b"one", b"two")

    assert refused
    assert None not in deliveries
    assert accumulator.drain.unfinished_records == 2


def test_a_flush_in_the_middle_of_a_send_is_refused() -> None:
    refused: list[RuntimeError] = []

    def new_builder(max_bytes: int) -> RecordBatchBuilder:
        with pytest.raises(RuntimeError, match="in the middle of its own send") as error:
            accumulator.waits.begin_flush(lambda: None)
        refused.append(error.value)
        return RecordBatchBuilder(max_bytes=max_bytes)

    accumulator = make_accumulator(new_builder=new_builder)

    put(accumulator, b"one")

    assert refused
    assert accumulator.waits.begin_flush(lambda: None).remaining


def test_many_threads_lose_nothing_and_keep_their_own_order():
    accumulator = make_accumulator(batch_size=500, buffer_memory=1 << 30, partitions=3)
    taken = []

    def produce(name: int) -> None:
        for number in range(2_000):
            put(accumulator, b"%d-%d" % (name, number), partition=number % 3)

    threads = [threading.Thread(target=produce, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        taken += accumulator.drain.take(0.0)[0]
    for batch in taken:
        batch.seal()
    taken += take_all(accumulator)

    for partition in range(3):
        batches = values_of([batch for batch in taken if batch.partition == partition])
        values = [value for batch in batches for value in batch]
        for name in range(4):
            mine = [value for value in values if value.startswith(b"%d-" % name)]
            assert mine == [b"%d-%d" % (name, n) for n in range(partition, 2_000, 3)]
