"""Every program in ``examples`` runs, and does what its docstring says."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import inspect
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from pyk.clients import Admin, Consumer, Producer, TopicPartition
from pyk.reference_broker import Cluster
from support.real_time import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TRIED_HERE = {
    "arrow_in_and_out",
    "exactly_once",
    "exactly_once_async",
    "fastapi_service",
    "spark_windows",
    "test_with_broker",
    "worker",
}


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        yield cluster


def example(name: str) -> ModuleType:
    """Import an example as if it were a program of its own."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_has_a_test_and_is_listed_in_the_readme() -> None:
    programs = {path.stem for path in EXAMPLES.glob("*.py")} - {"__init__"}
    listed = (EXAMPLES / "README.md").read_text()

    assert programs == TRIED_HERE
    assert [name for name in programs if f"({name}.py)" not in listed] == []


def test_the_worker_commits_the_records_it_handled_and_stops_on_sigterm(cluster: Cluster) -> None:
    with Producer(cluster.bootstrap) as producer:
        for table, item in (("table-7", "espresso"), ("table-2", "tea")):
            producer.send("orders", json.dumps({"item": item}), key=table)
    worker = subprocess.Popen(
        [sys.executable, EXAMPLES / "worker.py", cluster.bootstrap],
        stdout=subprocess.PIPE,
        text=True,
    )

    with worker:
        assert worker.stdout is not None
        handled = [worker.stdout.readline() for _ in range(2)]
        worker.send_signal(signal.SIGTERM)

    assert handled == ["table-7 ordered espresso\n", "table-2 ordered tea\n"]
    assert worker.returncode == 0
    with Admin(cluster.bootstrap) as admin:
        committed = admin.list_consumer_group_offsets("kitchen")[TopicPartition("orders", 0)]
    assert committed is not None
    assert committed.offset == 2


async def test_the_web_service_answers_with_the_partition_and_offset_of_an_order(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA", cluster.bootstrap)
    service = example("fastapi_service")
    transport = httpx.ASGITransport(app=service.app)

    async with (
        service.lifespan(service.app),
        httpx.AsyncClient(transport=transport, base_url="http://service") as client,
    ):
        answer = await client.post("/orders", json={"table": "table-7", "item": "espresso"})
        refused = await client.post("/orders", json={"table": "table-7"})

    assert (answer.status_code, answer.json()) == (201, {"partition": 0, "offset": 0})
    assert refused.status_code == 422
    with Consumer(cluster.bootstrap, topics=["orders"], auto_offset_reset="earliest") as consumer:
        (record,) = consumer.poll(10)
    assert (record.key, json.loads(record.value)["item"]) == (b"table-7", "espresso")


def test_the_test_with_a_broker_passes(tmp_path: Path) -> None:
    options = ["-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", str(EXAMPLES)]
    options += ["--basetemp", str(tmp_path / "temporary")]

    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, EXAMPLES / "test_with_broker.py"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_records_written_from_arrow_are_read_as_arrow(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.create_topic("measurements", partitions=3)

    example("arrow_in_and_out").main(cluster.bootstrap)

    assert capsys.readouterr().out == "10000 rows, mean 49.5\n"


@pytest.mark.spark
def test_the_windows_of_the_stream_are_counted_once_over_two_runs(
    cluster: Cluster, spark: SparkSession, tmp_path: Path
) -> None:
    def click(time: str) -> None:
        moment = datetime.fromisoformat(f"2025-01-01T{time}").replace(tzinfo=UTC)
        timestamp_ms = int(moment.timestamp() * 1000)
        producer.send_and_wait("clicks", b"click", key=b"home", timestamp_ms=timestamp_ms)

    program = example("spark_windows")
    cluster.create_topic("clicks", configs={"retention.ms": -1})
    with Producer(cluster.bootstrap) as producer:
        for time in ("12:00:10", "12:00:50", "12:01:05", "12:30:00"):
            click(time)
        program.count_per_minute(spark, cluster.bootstrap, str(tmp_path)).awaitTermination()
        click("13:00:00")
        program.count_per_minute(spark, cluster.bootstrap, str(tmp_path)).awaitTermination()

    with Consumer(
        cluster.bootstrap, topics=["clicks-per-minute"], auto_offset_reset="earliest"
    ) as consumer:
        counts = [json.loads(record.value)["count"] for record in consumer.poll(20, max_records=9)]
    assert sorted(counts) == [1, 1, 2]


class CrashError(Exception):
    """Ends a program in the middle of a transaction."""


@pytest.mark.parametrize("name", ["exactly_once", "exactly_once_async"])
def test_each_order_has_one_invoice_although_the_program_crashes_in_a_transaction(
    cluster: Cluster, name: str
) -> None:
    orders = [b"order %d" % number for number in range(20)]
    with Producer(cluster.bootstrap) as producer:
        for order in orders:
            producer.send("orders", order)
    bill, made = example(name).bill, list[bytes]()

    def run(**options: Any) -> None:
        running = bill(cluster.bootstrap, **options)
        if inspect.iscoroutine(running):
            asyncio.run(running)

    def crash_after_seven(order: bytes) -> bytes:
        made.append(order)
        if len(made) > 7:
            raise CrashError
        return b"invoice for " + order

    with pytest.raises(CrashError):
        run(transform=crash_after_seven)
    run(goes_on=lambda: len(read_committed(cluster, "invoices", 0.1)) < len(orders))

    assert sorted(read_committed(cluster, "invoices", 1.0)) == sorted(
        b"invoice for " + order for order in orders
    )


RUN_INSTANCE = """
import asyncio, functools, inspect, sys

examples, name, bootstrap, transactional_id, *held = sys.argv[1:]
sys.path.insert(0, examples)
program = __import__(name)
for kind in {"Consumer", "AsyncConsumer"} & set(vars(program)):
    setattr(program, kind, functools.partial(getattr(program, kind), session_timeout_ms=6000))

def transform(order):
    if held:
        print("in a transaction", flush=True)
        sys.stdin.readline()
    return program.invoice(order)

running = program.bill(bootstrap, transactional_id=transactional_id, transform=transform)
if inspect.iscoroutine(running):
    asyncio.run(running)
"""


@contextlib.contextmanager
def instance(
    cluster: Cluster, name: str, transactional_id: str, *held: str
) -> Iterator[subprocess.Popen[str]]:
    """Run a program until the end of the block, which kills it; with "held" it waits in its first
    transaction after the first record."""
    arguments = [str(EXAMPLES), name, cluster.bootstrap, transactional_id, *held]
    process = subprocess.Popen(
        [sys.executable, "-c", RUN_INSTANCE, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("name", ["exactly_once", "exactly_once_async"])
def test_each_order_has_one_invoice_although_one_of_two_instances_is_killed(
    cluster: Cluster, name: str
) -> None:
    cluster.create_topic("orders", partitions=4)
    cluster.create_topic("invoices", partitions=1)
    orders = [b"order %d" % number for number in range(40)]
    with Producer(cluster.bootstrap) as producer:
        for number, order in enumerate(orders):
            producer.send("orders", order, partition=number % 4)

    with instance(cluster, name, "billing-1", "held") as killed:
        assert killed.stdout is not None
        assert killed.stdin is not None
        assert killed.stdout.readline() == "in a transaction\n"
        killed.stdin.write("go on\n")
        killed.stdin.flush()
        assert killed.stdout.readline() == "in a transaction\n"
    assert killed.returncode == -signal.SIGKILL
    with instance(cluster, name, "billing-1"), instance(cluster, name, "billing-2"):
        eventually(lambda: len(read_committed(cluster, "invoices", 0.2)) >= len(orders))

    assert sorted(read_committed(cluster, "invoices", 1.0)) == sorted(
        b"invoice for " + order for order in orders
    )


def read_committed(cluster: Cluster, topic: str, seconds: float) -> list[bytes | None]:
    """Return all values that are visible to a reader of committed transactions."""
    with Consumer(
        cluster.bootstrap, auto_offset_reset="earliest", isolation_level="read_committed"
    ) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        values: list[bytes | None] = []
        while records := consumer.poll(seconds):
            values += [record.value for record in records]
        return values
