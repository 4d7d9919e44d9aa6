"""What handlers of ``process()`` raise, and what they call on the consumer that calls them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pyk.clients import AsyncConsumer, ConcurrentUseError, RetryPolicy, StateError
from pyk.runtime.virtual_time import eventually, virtual_time
from support.consuming import P0, cluster_with_orders, make_consumer

COUNT = 6


class Abort(BaseException):
    """An error that no handler of errors catches."""


@asynccontextmanager
async def orders() -> AsyncIterator[AsyncConsumer[bytes, bytes]]:
    """Run a broker with some orders, and a consumer of them."""
    async with (
        cluster_with_orders(COUNT) as cluster,
        make_consumer(cluster, group_id="g", topics=["orders"]) as consumer,
    ):
        yield consumer


async def committed(consumer: AsyncConsumer[Any, Any]) -> int:
    found = (await consumer.committed([P0]))[P0]
    assert found is not None
    return found.offset


async def await_what_was_cancelled(record: Any) -> None:
    if record.offset == 2:
        waiting = asyncio.get_running_loop().create_future()
        waiting.cancel()
        await waiting


def raise_it(record: Any) -> None:
    if record.offset == 2:
        raise asyncio.CancelledError


async def cancel_itself(record: Any) -> None:
    if record.offset == 2:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)


@pytest.mark.parametrize("handle", [await_what_was_cancelled, raise_it, cancel_itself])
@pytest.mark.parametrize("deadline", [None, 5.0])
@virtual_time
async def test_a_handler_that_is_cancelled_elsewhere_ends_the_call(handle, deadline):
    async with orders() as consumer:
        with pytest.raises(StateError, match="was cancelled, but not by process") as raised:
            await consumer.process(handle, deadline=deadline)

        assert raised.value.__notes__ == [
            "while handling the record of orders-0 at offset 2, attempt 1"
        ]
        assert await committed(consumer) == 2


@pytest.mark.parametrize("handle", [await_what_was_cancelled, raise_it])
@virtual_time
async def test_a_handler_that_is_cancelled_elsewhere_is_called_again_and_becomes_a_dead_letter(
    handle,
):
    async with orders() as consumer:
        dead: list[tuple[int, str]] = []
        calls: list[int] = []

        def count_and_handle(record: Any) -> Any:
            calls.append(record.offset)
            return handle(record)

        def keep(record: Any, error: Exception) -> None:
            dead.append((record.offset, type(error).__name__))

        policy = RetryPolicy(attempts=2, backoff=0.1)
        task = asyncio.create_task(
            consumer.process(count_and_handle, retry=policy, dead_letter=keep)
        )
        await eventually(lambda: len(calls) == COUNT + 1)
        consumer.wakeup()
        await task

        assert calls == [0, 1, 2, 2, 3, 4, 5]
        assert dead == [(2, "StateError")]
        assert await committed(consumer) == COUNT


@virtual_time
async def test_a_handler_whose_task_is_cancelled_elsewhere_is_not_moved_to_the_dead_letters():
    async with orders() as consumer:
        dead: list[Any] = []

        with pytest.raises(StateError, match="it cancelled its own task"):
            await consumer.process(cancel_itself, dead_letter=lambda *moved: dead.append(moved))

        assert not dead


@virtual_time
async def test_a_timeout_of_the_handler_itself_is_not_taken_for_its_deadline():
    async with orders() as consumer:

        async def handle(record: Any) -> None:
            raise TimeoutError("the database is away")

        with pytest.raises(TimeoutError, match="the database is away"):
            await consumer.process(handle, deadline=5)


@pytest.mark.parametrize("kind", [Abort, GeneratorExit])
@pytest.mark.parametrize("is_plain", [False, True], ids=["async", "plain"])
@virtual_time
async def test_an_error_that_is_no_exception_ends_the_call_without_a_second_attempt(kind, is_plain):
    async with orders() as consumer:
        calls: list[int] = []

        def handle(record: Any) -> None:
            calls.append(record.offset)
            if record.offset == 2:
                raise kind("enough")

        async def handle_later(record: Any) -> None:
            handle(record)

        with pytest.raises(kind, match="enough"):
            await consumer.process(
                handle if is_plain else handle_later, retry=RetryPolicy(), dead_letter=print
            )

        assert calls == [0, 1, 2]
        assert await committed(consumer) == 2


@pytest.mark.parametrize("call", ["poll", "process", "commit", "unsubscribe"])
@virtual_time
async def test_a_handler_that_reads_with_its_own_consumer_is_refused_and_changes_nothing(call):
    async with orders() as consumer:
        refused: list[ConcurrentUseError] = []

        async def handle(record: Any) -> None:
            if record.offset == 2:
                calls = {
                    "poll": consumer.poll,
                    "process": lambda: consumer.process(handle),
                    "commit": consumer.commit,
                    "unsubscribe": consumer.unsubscribe,
                }
                try:
                    await calls[call]()
                except ConcurrentUseError as error:
                    refused.append(error)
                await asyncio.sleep(1e9)

        task = asyncio.create_task(consumer.process(handle, ordering="none"))
        await asyncio.sleep(30)

        assert len(refused) == 1
        assert await committed(consumer) == 2  # which is still handled
        task.cancel()
        await asyncio.wait({task})


@virtual_time
async def test_two_calls_that_begin_at_once_do_not_share_a_consumer():
    async with orders() as consumer:
        handled: list[int] = []

        async def handle(record: Any) -> None:
            handled.append(record.offset)

        first = asyncio.create_task(consumer.process(handle))
        await asyncio.sleep(0)
        with pytest.raises(ConcurrentUseError):
            await consumer.process(handle)
        await eventually(lambda: len(handled) == COUNT)
        consumer.wakeup()
        await first

        assert handled == list(range(COUNT))
        assert await committed(consumer) == COUNT
        consumer.wakeup()
        await consumer.process(handle)  # the next call may begin


@virtual_time
async def test_a_task_cannot_poll_while_handlers_finish_at_the_end_of_the_call():
    async with orders() as consumer:
        started = asyncio.Event()

        async def handle(record: Any) -> None:
            started.set()
            await asyncio.sleep(5)

        task = asyncio.create_task(consumer.process(handle))
        await started.wait()
        consumer.wakeup()
        await asyncio.sleep(1)

        with pytest.raises(ConcurrentUseError):
            await consumer.poll()
        await task
        assert len(await consumer.poll(60)) == COUNT - 1


@virtual_time
async def test_a_handler_may_seek_pause_and_commit_its_own_record():
    async with orders() as consumer:
        handled: list[int] = []

        async def handle(record: Any) -> None:
            handled.append(record.offset)
            if handled == [0, 1, 2]:
                consumer.seek(P0, 1)
                consumer.pause(P0)
            elif record.offset == 4:
                await consumer.commit(record)

        task = asyncio.create_task(consumer.process(handle))
        await asyncio.sleep(10)
        first = list(handled)
        consumer.resume(P0)
        await eventually(lambda: len(handled) > len(first) + 4)
        consumer.wakeup()
        await task

        assert first == list(range(COUNT))  # what was read before the seek
        assert handled[len(first) :] == [1, 2, 3, 4, 5]
        assert await committed(consumer) == COUNT


@virtual_time
async def test_a_handler_that_closes_its_consumer_ends_the_call():
    async with cluster_with_orders(COUNT) as cluster:
        consumer = make_consumer(cluster, group_id="g", topics=["orders"])

        async def handle(record: Any) -> None:
            if record.offset == 2:
                await consumer.close()

        async with consumer:
            await consumer.process(handle)

        async with make_consumer(cluster, group_id="g", topics=["orders"]) as successor:
            records = await successor.poll(5)  # the group does not wait for the first member
            assert [record.offset for record in records] == [2, 3, 4, 5]
