"""An asyncio producer that is used outside its event loop."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.clients import AsyncProducer, StateError
from pyk.reference_broker import Cluster
from support.reading import read_topic
from support.real_time import IN_TIME


def test_sends_from_another_event_loop_or_thread_are_refused(cluster: Cluster, topic: str) -> None:
    async def elsewhere(producer: AsyncProducer[Any, Any]) -> None:
        with pytest.raises(StateError, match="another event loop"):
            await producer.send(topic, b"lost", partition=0)
        with pytest.raises(StateError, match="another event loop"):
            await producer.send_batch(topic, [b"lost"])

    async def main() -> int:
        async with AsyncProducer(cluster.bootstrap) as producer:
            await producer.send_and_wait(topic, b"1", partition=0)
            await asyncio.to_thread(lambda: asyncio.run(elsewhere(producer)))
            return producer.stats().unfinished_batches

    assert asyncio.run(main()) == 0


def test_another_thread_can_send_through_the_event_loop_of_the_producer(
    cluster: Cluster, topic: str
) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with AsyncProducer(cluster.bootstrap) as producer:
            await producer.send_and_wait(topic, b"1", partition=0)

            def send() -> None:
                sending = producer.send(topic, b"2", partition=0)
                asyncio.run_coroutine_threadsafe(sending, loop).result(IN_TIME)  # type: ignore[arg-type]

            await asyncio.to_thread(send)

    asyncio.run(main())

    assert [record.value for record in read_topic(cluster.bootstrap, topic)[0]] == [b"1", b"2"]
