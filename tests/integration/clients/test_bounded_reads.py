"""Bounded reads with the blocking face, and what reads Arrow streams."""

from __future__ import annotations

import asyncio
import socket
import threading
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from pyk.clients import (
    BootstrapError,
    ClosedError,
    ConcurrentUseError,
    ConfigurationError,
    Producer,
    StateError,
    UnknownTopicOrPartitionError,
    aread,
    read,
)
from pyk.reference_broker import Cluster


@pytest.fixture
def orders(cluster: Cluster, topic: str) -> str:
    with Producer(cluster.bootstrap) as producer:
        for number in range(100):
            producer.send(topic, b"%d" % number, key=b"key", partition=number % 3)
    return topic


def numbers(values: Any) -> list[int]:
    return sorted(int(value) for value in values)


def test_the_tables_of_a_topic_come_and_end(cluster, orders):
    table = pa.concat_tables(read(cluster.bootstrap, orders))

    assert numbers(table.column("value").to_pylist()) == list(range(100))
    assert table.column_names == read(cluster.bootstrap, orders).schema.names


def test_a_read_is_an_arrow_stream(cluster, orders):
    table = pa.table(read(cluster.bootstrap, orders, columns=["value"]))

    assert numbers(table.column("value").to_pylist()) == list(range(100))


def test_an_empty_read_is_an_arrow_stream(cluster, topic):
    assert pa.table(read(cluster.bootstrap, topic, columns=["value"])).to_pydict() == {"value": []}


def loop_threads() -> set[threading.Thread]:
    """Return the threads of consumers; others come and go, such as those that look up names."""
    return {thread for thread in threading.enumerate() if "consumer" in thread.name}


@pytest.mark.parametrize("end", ["leave", "close", "drop"])
def test_a_read_that_is_given_up_ends_its_thread(cluster, orders, end):
    before = loop_threads()
    tables = read(cluster.bootstrap, orders)
    with tables:
        next(tables)
        if end == "close":
            tables.close()
        elif end == "drop":
            del tables

    assert loop_threads() <= before


def test_options_of_groups_and_deserializers_are_refused(cluster, topic):
    with pytest.raises(ConfigurationError, match="does not take group_id, value_deserializer"):
        read(cluster.bootstrap, topic, group_id="a", value_deserializer=bytes.decode)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"columns": ["values"]}, ValueError),
        ({"order": "offset"}, ValueError),
        ({"start": 5}, TypeError),
        ({"end": datetime(2026, 1, 1)}, ValueError),
        ({"isolation": "read_committed"}, ConfigurationError),
        ({"topics": ["orders"]}, ConfigurationError),
    ],
)
def test_wrong_arguments_raise_before_anything_is_connected(topic, wrong, error):
    with pytest.raises(error):
        read("nowhere:1", topic, **wrong)


def test_a_time_in_the_future_is_the_end(cluster, orders):
    table = pa.concat_tables(read(cluster.bootstrap, orders, end=datetime(2100, 1, 1, tzinfo=UTC)))

    assert table.num_rows == 100


def test_a_stream_that_was_read_is_refused_and_not_empty(cluster, orders):
    tables = read(cluster.bootstrap, orders)
    assert pa.table(tables).num_rows == 100

    with pytest.raises(StateError, match="returned all of its records, and returns them once"):
        pa.table(tables)
    assert list(tables) == []


def test_a_read_that_was_closed_before_its_end_raises_when_it_is_asked_for_more(cluster, orders):
    begun, not_begun = read(cluster.bootstrap, orders), read(cluster.bootstrap, orders)
    with begun, not_begun:
        next(begun)

    for tables in (begun, not_begun):
        with pytest.raises(ClosedError, match="before all records were returned"):
            list(tables)
        with pytest.raises(ClosedError, match="before all records were returned"):
            pa.table(tables)


def test_a_read_that_has_raised_does_not_look_complete_afterwards(cluster):
    tables = read(cluster.bootstrap, "missing")
    with pytest.raises(UnknownTopicOrPartitionError):
        next(tables)

    with pytest.raises(ClosedError, match="an error ended it, before all records"):
        next(tables)


async def test_an_awaited_read_that_was_closed_raises_when_it_is_asked_for_more(cluster, orders):
    async with aread(cluster.bootstrap, orders) as tables:
        assert sum([table.num_rows async for table in tables]) == 100
    assert [table async for table in tables] == []

    async with aread(cluster.bootstrap, orders) as tables:
        await anext(tables)
    with pytest.raises(ClosedError, match="before all records were returned"):
        await anext(tables)


async def test_a_second_task_cannot_use_a_read_at_the_same_time(cluster, orders):
    async with aread(cluster.bootstrap, orders) as tables:
        first = asyncio.ensure_future(anext(tables))
        await asyncio.sleep(0)
        with pytest.raises(ConcurrentUseError, match="another task is using this read"):
            await anext(tables)
        await first


def read_what_cannot_be_read(tables: Any) -> None:
    with pytest.raises(BootstrapError):
        list(tables)


def test_a_second_thread_cannot_use_a_read_at_the_same_time():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        tables = read(f"127.0.0.1:{silent.getsockname()[1]}", "orders")
        first = threading.Thread(target=read_what_cannot_be_read, args=(tables,))
        first.start()
        connection, _ = silent.accept()
        with connection, pytest.raises(ConcurrentUseError, match="another thread is using this"):
            next(tables)
    first.join()


async def test_a_loop_or_block_of_the_other_kind_says_what_to_write():
    tables: Any = read("localhost:1", "orders")
    awaited: Any = aread("localhost:1", "orders")

    with pytest.raises(TypeError, match="write 'for' without async, or use aread"):
        _ = [table async for table in tables]
    with pytest.raises(TypeError, match="write 'with' without async, or use aread"):
        await tables.__aenter__()
    with pytest.raises(TypeError, match="write 'async for' in a coroutine, or use read"):
        list(awaited)
    with pytest.raises(TypeError, match="write 'async with' in a coroutine, or use read"):
        awaited.__enter__()


def test_a_topic_that_is_no_str_is_named_by_its_type():
    topics: Any = ["orders"]
    with pytest.raises(TypeError, match="topic must be a str, not list"):
        read("localhost:1", topics)
