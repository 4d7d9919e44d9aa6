"""Copy records of one topic into another."""

from __future__ import annotations

import time
from collections.abc import Callable

from pyk.clients import Producer
from pyk.clients.wording import counted
from pyk.command_line.frame.connecting import producer
from pyk.command_line.frame.output import tell
from pyk.command_line.frame.settings import Settings
from pyk.command_line.work.consuming import Wanted, read_topic
from pyk.command_line.work.printing import Condition, Records
from pyk.command_line.work.producing import Paced, Sending, check_topic

ISOLATION = {"isolation.level": "read_committed"}
"""What was aborted in the source must not become a record in the target."""


FLUSH_SECONDS = 1.0
"""While all copies are waited for, nothing is read, so this is not done for each poll."""


class CopyPrinter:
    """Sends records to a topic, instead of printing them."""

    def __init__(
        self,
        client: Producer,
        target: str,
        partitions: set[int],
        *,
        keeps_partitions: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.count = 0
        self._clock = clock
        self._due = clock() + FLUSH_SECONDS
        self._keeps_partitions = keeps_partitions
        self._sending = Sending(client, target, partitions, Paced(None), is_told=False)

    def take(self, records: Records, inside: Condition) -> None:
        add = self._sending.add
        for record in records:
            if inside is None or inside(record):
                partition = record.partition if self._keeps_partitions else None
                timestamp = record.timestamp if record.timestamp >= 0 else None
                add(record.value, record.key, record.headers, partition, timestamp)
                self.count += 1

    def flush(self, *, at_once: bool = False) -> bool:
        """Once a second, wait until all copies are acknowledged; raise if one is not."""
        if at_once or self._clock() >= self._due:
            self._sending.finish()
            self._due = self._clock() + FLUSH_SECONDS
        return self._sending.is_finished

    def finish(self) -> None:
        self._sending.finish()


def copy_topic(wanted: Wanted, target: str, to: Settings | None, *, keeps_partitions: bool) -> None:
    """Copy the records that are wanted; ``to`` names another cluster."""
    with producer(settings=to) as client:
        partitions = check_topic(client, target)
        copier = CopyPrinter(client, target, partitions, keeps_partitions=keeps_partitions)
        read_topic(wanted, copier, ISOLATION)
    form = {"source": wanted.topic, "target": target, "records": copier.count}
    tell(f"{counted(copier.count, 'record')} copied from {wanted.topic} to {target}", form)
