"""``pyk consume --group`` commits what it printed, also if it is interrupted just then."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from pyk.clients import Admin, Consumer, Producer, TopicPartition
from pyk.command_line.moments import EARLIEST
from pyk.command_line.work.consuming import Reading, Wanted
from pyk.command_line.work.interruptible import interrupts
from pyk.command_line.work.printing import Records
from pyk.reference_broker import Cluster


class InterruptedPrinter:
    """A reader ends the command as soon as it sees the first records."""

    count = 0

    def take(self, records: Records, inside: object) -> None:
        self.count += len(records)
        if records:
            signal.raise_signal(signal.SIGINT)

    def flush(self, *, at_once: bool = False) -> bool:
        return True

    def finish(self) -> None:
        pass


def test_records_that_were_printed_when_the_signal_came_are_committed() -> None:
    printer = InterruptedPrinter()
    with Cluster() as cluster:
        with Producer(cluster.bootstrap) as producer:
            producer.send_batch("orders", [b"one", b"two", b"three"]).result()
        options: dict[str, Any] = {"auto_offset_reset": "earliest", "enable_auto_commit": False}
        with (
            interrupts() as signals,
            Consumer(cluster.bootstrap, group_id="readers", **options) as client,
        ):
            wanted = Wanted(topic="orders", start=EARLIEST, is_followed=True, group="readers")
            reading = Reading(client, wanted, printer, signals)
            with pytest.raises(KeyboardInterrupt):
                reading.run()
            reading.finish()
        with Admin(cluster.bootstrap) as admin:
            committed = admin.list_consumer_group_offsets("readers")[TopicPartition("orders", 0)]

    assert committed is not None
    assert committed.offset == printer.count == 3
