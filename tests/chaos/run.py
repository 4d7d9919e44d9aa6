"""A cluster, its clients, and what goes wrong with them."""

from __future__ import annotations

import asyncio
import heapq
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

from pyk.clients import Admin, NewTopic
from pykcheck import Recorder, Report, check, read_history
from support.recorded_groups import TOPICS
from support.recorded_transactions import STAGES, not_processed_once
from support.recorded_transactions import TOPICS as CHAIN_TOPICS

from .audit import catch_up, read_everything
from .faults import Faults
from .group_ends import GroupReport, begin_at_the_start, wait_for_groups
from .group_roles import GROUP_ROLES
from .nodes import ChaosCluster
from .processes import Processes

SLOTS = (
    *(f"producer-{number}" for number in range(2)),
    *(f"member-{number}" for number in range(2)),
    *(f"writer-{number}" for number in range(2)),
    "preparer-0",
    "completer-0",
    *(f"stage{stage}-{number}" for stage in range(STAGES) for number in range(2)),
    *(f"{role}-{number}" for role in GROUP_ROLES for number in range(2)),
    "sharer-2",
)


# Transactions that the next producer keeps (KIP-939) are unknown to Apache Kafka 4.3.
KEEPERS = {"reference": tuple(f"keeper-{number}" for number in range(2)), "apache": ()}


class Chaos:
    """One run: :meth:`run` does it all, ``faults`` counts what went wrong by kind."""

    def __init__(self, seed: int, broker: str) -> None:
        self.faults: Counter[str] = Counter()
        self.not_processed_once: Counter[str] = Counter()
        """Records that a stage made none or several of, by stage."""
        self.groups = GroupReport()
        """What members of groups and share groups did, and what is wrong with it."""
        self._seed = seed
        self._broker = broker
        self._folder = Path(tempfile.mkdtemp(prefix=f"chaos-{broker}-{seed}-"))

    @property
    def history_file(self) -> Path:
        return self._folder / "history.jsonl"

    def run(self, seconds: float) -> Report:
        """Let things go wrong for so long, then let all end well, and check the history."""
        with ExitStack() as stack:
            cluster = stack.enter_context(ChaosCluster(self._broker, self._folder))
            self._create_topics(cluster.bootstrap)
            notes = stack.enter_context((self._folder / "processes.notes").open("w"))
            processes = Processes(
                self._folder, cluster.bootstrap, self._seed, Recorder(time.monotonic, file=notes)
            )
            stack.callback(processes.kill_all)
            for slot in (*SLOTS, *KEEPERS[self._broker]):
                processes.start(slot)
            processes.wait_until_busy()
            faults = Faults(cluster, processes, Random(self._seed))
            self.faults = faults.counts
            faults.run(seconds)
            self._end_well(cluster.bootstrap, processes)
        self._gather()
        self.not_processed_once = not_processed_once(events(self.history_file))
        return check(read_history(self.history_file))

    def _create_topics(self, bootstrap: str) -> None:
        with Admin(bootstrap) as admin:
            topics = [NewTopic(topic, partitions=3) for topic in TOPICS]
            topics += [NewTopic(topic, partitions=2) for topic in CHAIN_TOPICS]
            admin.create_topics(topics)
            begin_at_the_start(admin)

    def _end_well(self, bootstrap: str, processes: Processes) -> None:
        processes.end(["producer", "writer", "preparer", "keeper"])
        with (self._folder / "auditor.jsonl").open("w", encoding="utf-8") as file:
            recorder = Recorder(time.monotonic, file=file)
            asyncio.run(catch_up(recorder, bootstrap))
            processes.end(["completer", "member", "stage"])
            asyncio.run(read_everything(recorder, bootstrap))
        stalled = wait_for_groups(bootstrap, processes.replace_ended)
        processes.end([*GROUP_ROLES])
        self.groups = asyncio.run(GroupReport.of(bootstrap, self._notes(), stalled))

    def _notes(self) -> Iterator[dict[str, Any]]:
        """Yield what was noted of groups and processes, in the order of time."""
        files = sorted(self._folder.glob("*.notes"))
        return heapq.merge(*map(events, files), key=lambda note: note["time"])

    def _gather(self) -> None:
        """Make one history of those of all processes."""
        files = [file for file in self._folder.glob("*.jsonl") if file != self.history_file]
        merged = heapq.merge(*map(events, sorted(files)), key=lambda event: event["time"])
        with self.history_file.open("w", encoding="utf-8") as history:
            history.writelines(json.dumps(event) + "\n" for event in merged)


def events(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the events of a history; a process that was killed may have left half a line."""
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            if line.endswith("\n"):
                yield json.loads(line)
