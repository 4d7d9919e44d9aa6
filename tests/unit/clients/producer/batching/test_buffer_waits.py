"""The line for room in the buffer, and flushes."""

from __future__ import annotations

from pyk.clients.producer.batching.budget import RECORD_OVERHEAD_BYTES, RoomRequest
from pyk.clients.producer.batching.open_batches import NEVER
from support.producer_parts import (
    Wakeups,
    make_accumulator,
    put,
    take_all,
)


def test_a_full_buffer_takes_no_more_and_a_released_batch_makes_room():
    size = RECORD_OVERHEAD_BYTES + 100
    accumulator = make_accumulator(buffer_memory=2 * size)

    deliveries = put(accumulator, b"x" * 100, b"x" * 100, b"x" * 100)
    assert [delivery is None for delivery in deliveries] == [False, False, True]

    (batch,) = take_all(accumulator)
    accumulator.drain.release(batch)
    assert put(accumulator, b"x" * 100) != [None]


def test_room_is_granted_in_the_order_of_the_line():
    accumulator = make_accumulator(buffer_memory=1_000)
    put(accumulator, b"x" * 900)
    woken = []
    large = RoomRequest(800)
    accumulator.waits.request_room(large, lambda: woken.append("large"))
    small = RoomRequest(60)
    accumulator.waits.request_room(small, lambda: woken.append("small"))

    assert put(accumulator, b"") == [None]  # there is room, but others are in line
    (batch,) = take_all(accumulator)
    accumulator.drain.release(batch)

    assert woken == ["large", "small"]
    assert large.is_granted
    assert small.is_granted
    topic = accumulator.topics["orders"]
    assert accumulator.append(topic, 0, 1, None, b"x" * 752, (), large) is not None
    assert accumulator.budget.available == 1_000 - 860
    accumulator.waits.cancel_room(large)  # the batch has it now
    assert accumulator.budget.available == 1_000 - 860


def test_room_that_is_not_wanted_any_more_goes_to_the_next():
    accumulator = make_accumulator(buffer_memory=1_000)
    put(accumulator, b"x" * 900)
    first = RoomRequest(900)
    accumulator.waits.request_room(first, lambda: None)
    second = RoomRequest(900)
    accumulator.waits.request_room(second, lambda: None)
    third = RoomRequest(900)
    accumulator.waits.request_room(third, lambda: None)
    (batch,) = take_all(accumulator)
    accumulator.drain.release(batch)

    accumulator.waits.cancel_room(second)
    assert not third.is_granted
    accumulator.waits.cancel_room(first)

    assert third.is_granted
    accumulator.waits.cancel_room(third)
    assert accumulator.budget.available == 1_000


def append_when_woken(accumulator, request, appended):
    """Return a wake function that uses the room of a request at once."""

    def wake() -> None:
        topic = accumulator.topics["orders"]
        appended.append(accumulator.append(topic, 0, 1, None, b"x", (), request))

    return wake


def test_a_waiter_with_room_of_a_released_batch_can_append_once_it_is_woken():
    accumulator = make_accumulator(buffer_memory=1_000)
    put(accumulator, b"x" * 900)
    (batch,) = take_all(accumulator)
    request, appended = RoomRequest(100), []
    accumulator.waits.request_room(request, append_when_woken(accumulator, request, appended))

    accumulator.drain.release(batch)

    assert len(appended) == 1


def test_a_waiter_with_room_that_was_given_back_can_append_once_it_is_woken():
    accumulator = make_accumulator(buffer_memory=1_000)
    first, second, appended = RoomRequest(1_000), RoomRequest(100), []
    accumulator.waits.request_room(first, lambda: None)
    accumulator.waits.request_room(second, append_when_woken(accumulator, second, appended))

    accumulator.waits.cancel_room(first)

    assert len(appended) == 1


def test_nothing_lingers_while_a_caller_waits_for_room():
    wakeups = Wakeups()
    accumulator = make_accumulator(wakeups=wakeups, buffer_memory=1_000, linger=60.0)
    put(accumulator, b"x" * 900)
    accumulator.drain.take(0.0)

    accumulator.waits.request_room(RoomRequest(900), lambda: None)

    assert wakeups.count == 1
    assert len(accumulator.drain.take(0.0)[1]) == 1


def test_nothing_lingers_during_a_flush_and_it_ends_with_the_last_batch():
    accumulator = make_accumulator(partitions=2, linger=60.0)
    put(accumulator, b"a", partition=0)
    put(accumulator, b"b", partition=1)
    woken = Wakeups()

    flush = accumulator.waits.begin_flush(woken)
    first, second = take_all(accumulator, now=0.0)
    put(accumulator, b"later")
    accumulator.drain.release(first)
    assert woken.count == 0
    accumulator.drain.release(second)

    assert woken.count == 1
    assert not flush.remaining
    (later,) = take_all(accumulator, now=0.0)
    accumulator.drain.release(later)
    assert woken.count == 1
    accumulator.waits.end_flush(flush)
    put(accumulator, b"after")
    assert accumulator.drain.take(0.0) == ([], [])


def test_a_flush_wakes_the_sender_for_what_still_lingers():
    wakeups = Wakeups()
    accumulator = make_accumulator(wakeups=wakeups, linger=60.0)
    put(accumulator, b"a")
    accumulator.drain.take(0.0)

    accumulator.waits.begin_flush(lambda: None)

    assert wakeups.count == 1


def test_a_flush_waits_for_the_halves_of_a_batch():
    accumulator = make_accumulator(linger=60.0)
    put(accumulator, b"a", b"b")
    woken = Wakeups()
    flush = accumulator.waits.begin_flush(woken)
    (whole,) = take_all(accumulator)
    other = make_accumulator()
    put(other, b"a")
    put(other, b"b")
    halves = take_all(other) + take_all(make_and_fill())

    accumulator.drain.replace(whole, halves)
    accumulator.drain.release(halves[0])
    assert woken.count == 0
    accumulator.drain.release(halves[1])

    assert woken.count == 1
    accumulator.waits.end_flush(flush)
    assert accumulator.forget_idle(NEVER) == ["orders"]


def make_and_fill():
    accumulator = make_accumulator()
    put(accumulator, b"b")
    return accumulator


def test_a_flush_of_nothing_has_nothing_to_wait_for():
    accumulator = make_accumulator()

    assert not accumulator.waits.begin_flush(lambda: None).remaining
