"""Bounded reads in the libraries that read Arrow streams: pandas, polars, DuckDB."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from pyk.clients import Admin, NewTopic, Producer, read

pytestmark = pytest.mark.conformance


@pytest.fixture
def orders(bootstrap: str) -> str:
    topic = f"orders-{uuid4()}"
    with Admin(bootstrap) as admin:
        admin.create_topics([NewTopic(topic, partitions=3)])
    with Producer(bootstrap) as producer:
        for number in range(100):
            producer.send(topic, b"%d" % number, key=b"key", partition=number % 3)
    return topic


def numbers(values: Any) -> list[int]:
    return sorted(int(value) for value in values)


def test_pandas_reads_it(bootstrap, orders):
    pytest.importorskip("pandas")

    frame = pa.table(read(bootstrap, orders, order="time")).to_pandas()

    assert numbers(frame["value"]) == list(range(100))
    assert frame["timestamp"].is_monotonic_increasing


def test_polars_reads_it(bootstrap, orders):
    polars = pytest.importorskip("polars")

    frame = polars.DataFrame(read(bootstrap, orders))

    assert numbers(frame["value"]) == list(range(100))


def test_duckdb_reads_it(bootstrap, orders):
    duckdb = pytest.importorskip("duckdb")
    tables = read(bootstrap, orders, columns=["partition"])

    with duckdb.connect() as database:
        database.register("orders", tables)
        counts = database.sql("select partition, count(*) from orders group by 1 order by 1")
        assert counts.fetchall() == [(0, 34), (1, 33), (2, 33)]
