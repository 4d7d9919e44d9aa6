"""``pyk copy --group`` and ``pyk consume --group`` when the group divides its partitions again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pyk.clients import Consumer, OffsetAndMetadata, Producer, TopicPartition
from pyk.command_line.interrupts import Interrupts
from pyk.command_line.moments import EARLIEST
from pyk.command_line.records.filters import RecordFilter
from pyk.command_line.work.consuming import Reading, Wanted
from pyk.command_line.work.copying import CopyPrinter
from pyk.command_line.work.printing import ParquetPrinter, Printer
from pyk.reference_broker import Cluster
from support.real_time import IN_TIME, eventually

PROTOCOLS = ("classic", "consumer")


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        cluster.create_topic("orders", partitions=2)
        cluster.create_topic("copies", partitions=2)
        with Producer(cluster.bootstrap) as producer:
            for number in range(6):
                producer.send("orders", b"%d" % number, partition=number % 2)
        yield cluster


def member(cluster: Cluster, protocol: str) -> Consumer[Any, Any]:
    options: dict[str, Any] = {"group_protocol": protocol, "enable_auto_commit": False}
    return Consumer(cluster.bootstrap, group_id="g", auto_offset_reset="earliest", **options)


@contextmanager
def reading(client: Consumer[Any, Any], printer: Printer) -> Iterator[Callable[[], None]]:
    """Read with this printer in another thread; call what it yields to end it."""
    is_over = threading.Event()
    wanted = Wanted(topic="orders", start=EARLIEST, is_followed=True, group="g")
    take = printer.take

    def take_or_stop(records: Any, inside: Any) -> None:
        if is_over.is_set():
            raise KeyboardInterrupt
        take(records, inside)

    printer.take = take_or_stop  # type: ignore[method-assign]
    one = Reading(client, wanted, printer, Interrupts())
    errors: list[BaseException] = []

    def run() -> None:
        try:
            try:
                one.run()
            except KeyboardInterrupt:
                one.finish()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def end() -> None:
        is_over.set()
        thread.join(IN_TIME)
        assert errors == []

    try:
        yield end
    finally:
        is_over.set()
        thread.join(IN_TIME)


def assigned(client: Consumer[Any, Any]) -> TopicPartition:
    """Poll until the client has one of the partitions; none of it may be left to read."""

    def is_assigned() -> bool:
        assert not client.poll(0.05), "a record was handed to both members"
        return len(client.assignment()) == 1

    eventually(is_assigned)
    (partition,) = client.assignment()
    return partition


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_was_copied_of_a_partition_is_committed_before_another_member_has_it(
    cluster: Cluster, protocol: str
) -> None:
    with Producer(cluster.bootstrap) as producer, member(cluster, protocol) as first:
        copier = CopyPrinter(producer, "copies", {0, 1}, keeps_partitions=True, clock=lambda: 0.0)
        with reading(first, copier) as end:
            eventually(lambda: copier.count == 6)

            with member(cluster, protocol) as second:
                second.subscribe(["orders"])
                partition = assigned(second)

                offsets = second.committed([partition])
            end()

    assert offsets == {partition: OffsetAndMetadata(3)}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_finished_table_commits_nothing_of_a_partition_that_another_member_has(
    cluster: Cluster, protocol: str
) -> None:
    with member(cluster, protocol) as first:
        table = ParquetPrinter("t.parquet", Opened, RecordFilter())
        with reading(first, table) as end:
            eventually(lambda: table.count == 6)

            with member(cluster, protocol) as second:
                second.subscribe(["orders"])
                eventually(lambda: bool(second.poll(0.05)))
                (partition,) = second.assignment()
                second.commit({partition: 1})
                end()

                offsets = second.committed([partition])

    assert offsets == {partition: OffsetAndMetadata(1)}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_table_has_no_record_twice_when_its_partitions_come_back(
    cluster: Cluster, protocol: str
) -> None:
    written = Opened()
    with member(cluster, protocol) as first:
        table = ParquetPrinter("t.parquet", lambda: written, RecordFilter())
        with reading(first, table) as end:
            eventually(lambda: table.count == 6)
            with member(cluster, protocol) as second:
                second.subscribe(["orders"])
                eventually(lambda: bool(second.poll(0.05)))
            with Producer(cluster.bootstrap) as producer:
                for number in range(6, 8):
                    producer.send("orders", b"%d" % number, partition=number % 2)
            eventually(lambda: {b"6", b"7"} <= set(written.values))
            end()
        offsets = first.committed([TopicPartition("orders", number) for number in range(2)])

    assert sorted(written.values) == [b"%d" % number for number in range(8)]
    assert [found and found.offset for found in offsets.values()] == [4, 4]


class Opened:
    """A table that remembers its values."""

    def __init__(self) -> None:
        self.values: list[bytes] = []

    def write_table(self, table: Any) -> None:
        self.values += table["value"].to_pylist()

    def close(self) -> None:
        pass
