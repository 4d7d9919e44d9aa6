"""Bounded reads with the blocking face, and what reads Arrow streams."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from pyk.clients import ConfigurationError, Producer, read
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
    ],
)
def test_wrong_arguments_raise_before_anything_is_connected(topic, wrong, error):
    with pytest.raises(error):
        read("nowhere:1", topic, **wrong)


def test_a_time_in_the_future_is_the_end(cluster, orders):
    table = pa.concat_tables(read(cluster.bootstrap, orders, end=datetime(2100, 1, 1, tzinfo=UTC)))

    assert table.num_rows == 100
