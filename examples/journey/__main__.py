"""Run the journey: ``python -m examples.journey [--input FILE|-]``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress, TaskID

from examples.journey import report
from examples.journey.broker import running_broker
from examples.journey.comparison import Comparison, compare
from examples.journey.group import Group
from examples.journey.spark import count_with_spark, read_counts, start_session
from examples.journey.text import Line, count_directly, lines_of, standard_library
from pyk.clients import Admin, Delivery, NewTopic, Producer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LINES_TOPIC, COUNTS_TOPIC = "source-lines", "package-counts"
PARTITIONS = 6
STALLED_AFTER_SECONDS = 60


class Journey:
    """Runs the steps in order, and keeps the number of records and the time of each."""

    def __init__(self, lines: list[Line], folder: Path, console: Console) -> None:
        self._lines = lines
        self._folder = folder
        self._console = console
        self._rates: dict[str, tuple[int, float]] = {}
        self._sent: set[tuple[int, int]] = set()

    def run(self) -> Comparison:
        data_dir = self._folder / "broker"
        # Spark binds a session to the thread that made it, so all of Spark runs in one thread.
        with ThreadPoolExecutor(1) as spark_thread, running_broker(data_dir) as address:
            session = spark_thread.submit(start_session, self._folder)
            self._say(f"a broker serves on {address}, its log is in {data_dir}")
            with Admin(address) as admin:
                admin.create_topics(
                    [NewTopic(LINES_TOPIC, partitions=PARTITIONS), NewTopic(COUNTS_TOPIC)]
                )
            group = self._travel(address)
            self._say("Spark counts the same lines as a stream and writes its counts to a topic")
            spark_thread.submit(self._query, address, session.result()).result()
            spark = read_counts(address, COUNTS_TOPIC)
        direct, consumed = count_directly(self._lines), group.counts()
        report.show_counts(self._console, direct, consumed, spark)
        report.show_rates(self._console, self._rates)
        return compare(self._sent, group.times_read(), direct, consumed, spark)

    def _say(self, text: str) -> None:
        self._console.print(f"  {text}", highlight=False, soft_wrap=True)

    def _travel(self, address: str) -> Group:
        """Produce and consume at the same time, while members leave and join."""
        group = Group(address, LINES_TOPIC, self._say)
        total = len(self._lines)
        with report.make_progress(self._console) as progress, ThreadPoolExecutor(1) as background:
            sent, read = (progress.add_task(name, total=total) for name in ("produced", "consumed"))
            for _ in range(2):
                group.join()
            started = time.monotonic()
            producing = background.submit(self._produce, address, progress, sent)
            self._follow(group, producing, progress, read)
            self._rates["consumer group"] = (group.consumed, time.monotonic() - started)
            producing.result()
            group.close()
        return group

    def _produce(self, address: str, progress: Progress, task: TaskID) -> None:
        deliveries: list[Delivery] = []
        started = time.monotonic()
        with Producer(address, linger_ms=20, compression_type="zstd") as producer:
            for number, line in enumerate(self._lines, 1):
                deliveries.append(producer.send(LINES_TOPIC, line.text, line.module.encode()))
                if number % 1_000 == 0:
                    progress.update(task, completed=number)
        progress.update(task, completed=len(self._lines))
        self._rates["producer"] = (len(deliveries), time.monotonic() - started)
        for delivery in deliveries:
            metadata = delivery.result(0)
            self._sent.add((metadata.partition, metadata.offset))

    def _follow(
        self, group: Group, producing: Future[None], progress: Progress, task: TaskID
    ) -> None:
        """Wait until the group has read everything; meanwhile one member joins and one leaves."""
        total, changes = len(self._lines), [(0.25, group.join), (0.5, group.leave)]
        last, moved_at = 0, time.monotonic()
        while last < total:
            group.check()
            if producing.done():
                producing.result()  # raises the error of the producer, if any
            time.sleep(0.05)
            if group.consumed > last:
                last, moved_at = group.consumed, time.monotonic()
                progress.update(task, completed=last)
            if time.monotonic() - moved_at > STALLED_AFTER_SECONDS:
                self._say(f"no record for {STALLED_AFTER_SECONDS} s: going on without the rest")
                return
            while changes and last >= changes[0][0] * total:
                changes.pop(0)[1]()

    def _query(self, address: str, session: SparkSession) -> None:
        started = time.monotonic()
        try:
            batches = count_with_spark(session, address, LINES_TOPIC, COUNTS_TOPIC, self._folder)
            seconds = time.monotonic() - started
            self._rates[f"Spark, {batches} batches"] = (len(self._lines), seconds)
        finally:
            session.stop()


def main() -> int:
    parser = argparse.ArgumentParser(prog="journey", description=__doc__)
    parser.add_argument("--input", metavar="FILE", help="a text file, or - for standard input")
    name = parser.parse_args().input
    console = Console()
    lines = list(standard_library() if name is None else lines_of(name))
    source = "the standard library's source" if name is None else name
    console.print(f"[bold]{len(lines):,} lines of {source} go on a journey[/bold]", highlight=False)
    with tempfile.TemporaryDirectory(prefix="pyk-demo-") as folder:
        comparison = Journey(lines, Path(folder), console).run()
    report.show_comparison(console, comparison)
    return 0 if comparison.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
