"""Measure a cluster from one client."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click

from pyk.clients import Delivery, TopicPartition
from pyk.command_line.frame.connecting import consumer, producer
from pyk.command_line.frame.output import is_terminal, print_facts, print_json, wants_json
from pyk.command_line.measurements import histogram, summary
from pyk.command_line.moments import EARLIEST
from pyk.command_line.work.consuming import Wanted, partitions_of, read_topic
from pyk.command_line.work.printing import Condition, Records
from pyk.command_line.work.producing import Paced, check_topic

SAMPLED_EVERY = 100
POLL_SECONDS = 1.0


def produce(topic: str, count: int, size: int, rate: float | None) -> None:
    """Print the rate of sending, and how long sampled records took until acknowledged."""
    times: list[float] = []
    payload = b"x" * size
    with producer() as client, _progress(count) as advance:
        check_topic(client, topic)
        began = time.perf_counter()
        pending: deque[Delivery] = deque()
        pace = Paced(rate)
        for number in range(count):
            pace.wait()
            delivery = client.send(topic, payload)
            pending.append(delivery)
            if number % SAMPLED_EVERY == 0:
                delivery.add_done_callback(_noting(time.perf_counter(), times))
                advance(min(SAMPLED_EVERY, count - number))
                while pending and pending[0].done():
                    pending.popleft().result()
        client.flush()
        took = time.perf_counter() - began
        for delivery in pending:
            delivery.result()
    _print("produce", count, size * count, took, times)


def _noting(sent: float, times: list[float]) -> Callable[[Any], None]:
    return lambda _: times.append((time.perf_counter() - sent) * 1000)


class _Counter:
    """Counts records and bytes, instead of printing them."""

    def __init__(self, advance: Callable[[int], None]) -> None:
        self.count, self.size = 0, 0
        self._advance = advance

    def take(self, records: Records, inside: Condition) -> None:
        chosen = [each for each in records if inside is None or inside(each)]
        self.count += len(chosen)
        self.size += sum(len(each.key or b"") + len(each.value or b"") for each in chosen)
        self._advance(len(chosen))

    def flush(self, *, at_once: bool = False) -> bool:
        return True

    def finish(self) -> None:
        """Nothing is kept."""


def consume(topic: str, count: int) -> None:
    """Print the rate of reading, from the start of a topic."""
    with _progress(count) as advance:
        counter = _Counter(advance)
        began = time.perf_counter()
        read_topic(Wanted(topic=topic, start=EARLIEST, count=count), counter)
        took = time.perf_counter() - began
    _print("consume", counter.count, counter.size, took, ())


def latency(topic: str, count: int, size: int) -> None:
    """Print how long records take from ``send`` until they are read again."""
    times: list[float] = []
    options = {"enable.auto.commit": False, "auto.offset.reset": "latest"}
    with (
        producer({"linger.ms": 0}) as sender,
        consumer(options) as reader,
        _progress(count) as advance,
    ):
        check_topic(sender, topic)
        first = TopicPartition(topic, min(partitions_of(reader, topic)))
        reader.assign([first])
        reader.seek(first, reader.end_offsets([first])[first])
        began = time.perf_counter()
        for _ in range(count):
            sent = time.perf_counter()
            offset = sender.send_and_wait(topic, b"x" * size, partition=first.partition).offset
            while not any(record.offset >= offset for record in reader.poll(POLL_SECONDS)):
                pass
            times.append((time.perf_counter() - sent) * 1000)
            advance(1)
        took = time.perf_counter() - began
    _print("latency", count, size * count, took, times)


def _print(what: str, count: int, size: int, took: float, times: Sequence[float]) -> None:
    form: Mapping[str, Any] = {
        "test": what,
        "records": count,
        "seconds": round(took, 3),
        "recordsPerSecond": round(count / took) if took else None,
        "mebibytesPerSecond": round(size / took / 2**20, 3) if took else None,
        **summary(times),
    }
    if wants_json():
        print_json(form)
        return
    print_facts(form)
    if is_terminal():
        for line in histogram(times):
            click.echo(line)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar while there is a terminal to show it on."""
    if not sys.stderr.isatty() or wants_json():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda count: bar.advance(task, count)
