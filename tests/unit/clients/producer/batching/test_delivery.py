"""What became of records."""

from __future__ import annotations

import asyncio
import gc
import logging
import pickle
import sys
import threading
from collections.abc import Iterator

import pytest

from pyk.clients.engine.fork import ForkGuard
from pyk.clients.engine.waiter import Engine, LoopOfCaller
from pyk.clients.errors import (
    InvalidRecordError,
    KafkaTimeoutError,
    StateError,
    TransactionAbortedError,
)
from pyk.clients.producer.batching.delivery import BatchResult, Delivery, RecordMetadata
from support.garbage import without_garbage_collection


@pytest.fixture
def only_new_garbage(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Keep what a test makes in the youngest generation: to collect all would take far longer."""
    with without_garbage_collection():
        gc.collect(1)
        caplog.clear()
        yield


def running_loop() -> LoopOfCaller:
    """Return this thread, or its loop, as what settles deliveries."""
    engine = LoopOfCaller(ForkGuard("producer"))
    engine.start()
    return engine


def make_deliveries(
    count: int = 3, engine: Engine | None = None
) -> tuple[BatchResult, list[Delivery]]:
    batch = BatchResult("orders", 2, engine or LoopOfCaller(ForkGuard("producer")))
    return batch, [Delivery(batch, index, 1_000 + index) for index in range(count)]


def test_every_record_of_a_written_batch_has_its_offset_and_timestamp():
    batch, deliveries = make_deliveries()
    assert not deliveries[0].done()

    batch.complete(40)

    assert [delivery.result() for delivery in deliveries] == [
        RecordMetadata("orders", 2, 40, 1_000),
        RecordMetadata("orders", 2, 41, 1_001),
        RecordMetadata("orders", 2, 42, 1_002),
    ]
    assert deliveries[0].exception() is None


def test_a_delivery_has_the_timestamp_that_the_broker_set():
    batch, (delivery, *_) = make_deliveries()

    batch.complete(0, log_append_time=9_000)

    assert delivery.result().timestamp == 9_000


def test_an_unknown_offset_is_minus_one_for_every_record():
    batch, deliveries = make_deliveries()

    batch.complete(-1)

    assert [delivery.result().offset for delivery in deliveries] == [-1, -1, -1]


def test_each_raise_has_a_traceback_of_its_own():
    batch, deliveries = make_deliveries()
    error = KafkaTimeoutError("late", topic="orders", partition=2, definite=False)

    batch.fail(error, 3)

    raised = []
    for delivery in deliveries:
        with pytest.raises(KafkaTimeoutError, match="late") as caught:
            delivery.result()
        raised.append(caught.value)
    assert len(set(map(id, raised))) == 3
    assert error.__traceback__ is None
    assert raised[0].partition == 2
    assert deliveries[0].exception() is error


def test_single_records_have_errors_of_their_own():
    batch, deliveries = make_deliveries()

    batch.fail(KafkaTimeoutError("others"), 3, {1: InvalidRecordError("this one")})

    assert [str(delivery.exception()) for delivery in deliveries] == [
        "others",
        "this one",
        "others",
    ]


def test_a_split_batch_answers_through_its_pieces():
    batch, deliveries = make_deliveries(4)
    first, second, third = (BatchResult("orders", 2) for _ in range(3))
    called = []
    deliveries[3].add_done_callback(lambda delivery: called.append(delivery.result().offset))

    batch.split(first, second, 2)
    first.complete(10)
    second.split(third, BatchResult("orders", 2), 1)
    third.complete(20)

    assert [delivery.done() for delivery in deliveries] == [True, True, True, False]
    assert [delivery.result().offset for delivery in deliveries[:3]] == [10, 11, 20]
    assert called == []
    second.pieces[1].complete(30)
    assert called == [30]


def test_single_records_of_a_piece_have_errors_of_their_own():
    batch, deliveries = make_deliveries(4)
    first, second = BatchResult("orders", 2), BatchResult("orders", 2)
    batch.split(first, second, 2)

    second.fail(KafkaTimeoutError("others"), 2, {1: InvalidRecordError("this one")})

    assert [str(delivery.exception()) for delivery in deliveries[2:]] == ["others", "this one"]


@pytest.mark.usefixtures("only_new_garbage")
def test_a_failed_piece_of_a_batch_is_not_logged_once_its_outcome_was_read(caplog):
    batch, deliveries = make_deliveries(2)
    deliveries[0].add_done_callback(lambda _: None)
    first, second = BatchResult("orders", 2), BatchResult("orders", 2)
    batch.split(first, second, 1)
    second.fail(KafkaTimeoutError("too late"), 1)
    with caplog.at_level(logging.ERROR):
        del batch, deliveries, first, second
        gc.collect(0)

    assert caplog.records == []


@pytest.mark.parametrize("point", range(1, 8))
def test_a_record_of_a_split_batch_is_asked_for_while_it_is_asked_for(point):
    batch, (*_, delivery) = make_deliveries(4)
    first, second = BatchResult("orders", 2), BatchResult("orders", 2)
    batch.split(first, second, 2)
    first.complete(10)
    second.complete(20)
    events = 0

    def ask_meanwhile(*_: object) -> None:  # as another thread, or the handler of a signal, may
        nonlocal events
        events += 1
        if events == point:
            sys.setprofile(None)
            delivery.done()

    with without_garbage_collection():
        sys.setprofile(ask_meanwhile)
        try:
            delivery.done()
        finally:
            sys.setprofile(None)

    assert delivery.result().offset == 21


def test_callbacks_run_once_in_order_whenever_they_were_added():
    batch, (delivery, *_) = make_deliveries()
    called = []

    delivery.add_done_callback(lambda _: called.append("before"))
    batch.complete(0)
    delivery.add_done_callback(lambda _: called.append("after"))

    assert called == ["before", "after"]


def test_a_callback_that_fails_is_logged_and_disturbs_no_other(caplog):
    batch, (first, second, _) = make_deliveries()
    called = []
    first.add_done_callback(lambda _: 1 // 0)
    second.add_done_callback(called.append)

    batch.complete(0)

    assert called == [second]
    assert "ZeroDivisionError" in caplog.text


def test_an_async_callback_is_logged_because_nothing_awaits_it(caplog):
    async def report(delivery):
        raise AssertionError("nothing awaits it")

    batch, (delivery, *_) = make_deliveries()
    delivery.add_done_callback(report)

    batch.complete(40)

    assert caplog.messages == ["A delivery callback failed"]
    assert "it must not be an async function" in caplog.text


def test_a_callback_that_cannot_be_called_is_refused_at_once():
    _, (delivery, *_) = make_deliveries()

    with pytest.raises(TypeError, match="function must be callable, not str"):
        delivery.add_done_callback("report")


def test_waiting_ends_with_the_timeout_and_leaves_nothing_behind():
    batch, (delivery, *_) = make_deliveries()

    for _ in range(3):
        with pytest.raises(KafkaTimeoutError, match="goes on trying"):
            delivery.result(timeout=0.001)

    batch.complete(5)
    assert delivery.result(timeout=0).offset == 5


def test_another_thread_that_waits_is_woken():
    batch, (delivery, *_) = make_deliveries()
    offsets = []
    threads = [
        threading.Thread(target=lambda: offsets.append(delivery.result(5).offset)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()

    batch.complete(7)

    for thread in threads:
        thread.join()
    assert offsets == [7] * 4


async def test_the_engine_s_own_loop_refuses_to_wait_for_itself():
    batch, (delivery, *_) = make_deliveries(engine=running_loop())

    with pytest.raises(StateError, match="never end"):
        delivery.result()
    batch.complete(0)
    assert delivery.result().offset == 0


async def test_a_delivery_can_be_awaited_on_the_engine_s_loop_and_by_many():
    batch, deliveries = make_deliveries(engine=running_loop())
    waiting = [asyncio.ensure_future(delivery) for delivery in [*deliveries, deliveries[0]]]
    await asyncio.sleep(0)

    batch.complete(3)

    assert [metadata.offset for metadata in await asyncio.gather(*waiting)] == [3, 4, 5, 3]
    assert (await deliveries[1]).offset == 4


async def test_a_delivery_can_be_awaited_on_another_loop():
    batch, (delivery, *_) = make_deliveries()
    waiting = asyncio.ensure_future(delivery)
    await asyncio.sleep(0)

    thread = threading.Thread(target=batch.complete, args=(8,))
    thread.start()

    assert (await waiting).offset == 8
    thread.join()


async def test_a_cancelled_waiter_does_not_disturb_others():
    batch, (delivery, *_) = make_deliveries(engine=running_loop())
    given_up = asyncio.ensure_future(delivery)
    patient = asyncio.ensure_future(delivery)
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.sleep(0)

    batch.complete(1)

    assert (await patient).offset == 1
    assert given_up.cancelled()


async def test_awaiting_a_failure_raises_it():
    batch, (delivery, *_) = make_deliveries(engine=running_loop())
    waiting = asyncio.ensure_future(delivery)
    await asyncio.sleep(0)

    batch.fail(KafkaTimeoutError("late"), 3)

    with pytest.raises(KafkaTimeoutError, match="late"):
        await waiting


@pytest.mark.usefixtures("only_new_garbage")
def test_a_forked_child_logs_nothing_of_the_batches_of_its_parent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    batch, deliveries = make_deliveries(2)
    batch.abandon(KafkaTimeoutError("belongs to the parent"), 2)
    with caplog.at_level(logging.ERROR):
        del batch, deliveries
        gc.collect(0)

    assert caplog.records == []


@pytest.mark.usefixtures("only_new_garbage")
def test_records_of_an_aborted_transaction_are_no_failure_to_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    batch, deliveries = make_deliveries(2)
    batch.fail(TransactionAbortedError("its transaction was aborted"), 2)
    with caplog.at_level(logging.ERROR):
        del batch, deliveries
        gc.collect(0)

    assert caplog.records == []


@pytest.mark.usefixtures("only_new_garbage")
@pytest.mark.parametrize(("count", "told"), [(500, "500 records"), (1, "1 record")])
def test_an_unread_failure_is_logged_once_per_batch(caplog, count, told):
    batch, deliveries = make_deliveries(count)
    batch.fail(KafkaTimeoutError("too late"), count)
    with caplog.at_level(logging.ERROR):
        del batch, deliveries
        gc.collect(0)

    assert [record.getMessage() for record in caplog.records] == [
        f"{told} for partition 2 of topic 'orders' not delivered: too late"
    ]


@pytest.mark.usefixtures("only_new_garbage")
@pytest.mark.parametrize(
    "look",
    [
        lambda delivery: delivery.exception(),
        lambda delivery: delivery.add_done_callback(lambda _: None),
    ],
)
def test_a_failure_that_was_read_is_not_logged(caplog, look):
    batch, deliveries = make_deliveries()
    batch.fail(KafkaTimeoutError("too late"), 3)
    look(deliveries[0])
    with caplog.at_level(logging.ERROR):
        del batch, deliveries
        gc.collect(0)

    assert caplog.records == []


def test_metadata_are_values():
    metadata = RecordMetadata("orders", 2, 40, 1_000)

    assert metadata == RecordMetadata("orders", 2, 40, 1_000)
    assert metadata != RecordMetadata("orders", 2, 41, 1_000)
    assert len({metadata, RecordMetadata("orders", 2, 40, 1_000)}) == 1
    assert pickle.loads(pickle.dumps(metadata)) == metadata
    assert repr(metadata) == (
        "RecordMetadata(topic='orders', partition=2, offset=40, timestamp=1000)"
    )


def test_a_delivery_shows_its_state_in_its_repr():
    batch, (delivery, *_) = make_deliveries()
    assert repr(delivery) == "<Delivery to partition 2 of 'orders': under way>"

    batch.complete(40)

    assert repr(delivery) == "<Delivery to partition 2 of 'orders': offset 40>"
