"""The order of the records of several partitions."""

from __future__ import annotations

import pyarrow as pa

from pyk.clients.reading.orders import ArrivalOrder, TimeOrder, rows_below
from pyk.clients.topic_partition import TopicPartition

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)


def records(*timestamps: int) -> pa.Table:
    return pa.table({"timestamp": pa.array(timestamps, pa.timestamp("us", tz="UTC"))})


def times(table: pa.Table | None) -> list[int] | None:
    return None if table is None else table.column("timestamp").cast(pa.int64()).to_pylist()


def test_records_that_arrive_are_returned_at_once():
    order = ArrivalOrder([P0, P1])
    assert order.take() is None

    order.add(P1, records(5))
    order.add(P0, records(3))

    assert times(order.take()) == [5, 3]
    assert order.wanted == {P0, P1}

    order.finish(P1)
    assert order.wanted == {P0}


def test_records_wait_for_later_ones_of_every_open_partition():
    order = TimeOrder([P0, P1])
    order.add(P0, records(1, 4, 6))

    assert (order.wanted, order.take()) == ({P1}, None)

    order.add(P1, records(2, 5))

    assert times(order.take()) == [1, 2, 4, 5]
    assert order.wanted == {P1}


def test_a_partition_that_is_finished_holds_nothing_back():
    order = TimeOrder([P0, P1])
    order.add(P0, records(1, 4))
    order.add(P1, records(2))
    order.finish(P1)

    assert times(order.take()) == [1, 2, 4]
    order.finish(P0)
    assert (order.wanted, order.take()) == (set(), None)


def test_records_of_one_partition_keep_their_order_whatever_their_timestamps():
    order = TimeOrder([P0, P1])
    order.add(P0, records(5, 1))
    order.add(P1, records(3))
    order.finish(P1)
    assert times(order.take()) == [3, 5, 1]

    order.add(P0, records(2, 7))
    order.finish(P0)
    assert times(order.take()) == [2, 7]


def test_what_finished_partitions_left_is_returned_together():
    order = TimeOrder([P0, P1])
    order.add(P0, records(1, 9))
    order.add(P1, records(2, 3))
    order.finish(P0)
    order.finish(P1)

    assert times(order.take()) == [1, 2, 3, 9]


def test_rows_below_counts_in_chunks():
    ascending = pa.chunked_array([[1, 2], [], [2, 5]], pa.int64())

    assert [rows_below(ascending, end) for end in (0, 1, 2, 3, 5, 6)] == [0, 0, 1, 3, 3, 4]
