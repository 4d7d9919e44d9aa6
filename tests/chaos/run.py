"""A broker, its clients, and what goes wrong with them."""

from __future__ import annotations

import asyncio
import heapq
import json
import os
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

from pyk.clients import Admin, AsyncConsumer, NewTopic, TopicPartition
from pyk.protocol import ApiKey
from pykcheck import Recorder, Report, check, read_history
from support.apache_kafka import free_ports
from support.broker_process import BrokerProcess
from support.proxy import Proxy
from support.recorded_chains import PARTITIONS as CHAIN_PARTITIONS
from support.recorded_chains import STAGES, TRANSACTION_TIMEOUT
from support.recorded_chains import TOPICS as CHAIN_TOPICS
from support.recorded_clients import RecordedConsumer
from support.recorded_groups import GROUP, PARTITIONS, TOPICS

from .client import Job

SLOTS = (
    *(f"producer-{number}" for number in range(2)),
    *(f"member-{number}" for number in range(2)),
    *(f"writer-{number}" for number in range(2)),
    *(f"stage{stage}-{number}" for stage in range(STAGES) for number in range(2)),
)
TRANSACTIONAL = ("writer", "stage")
SECONDS_TO_START = 120
SECONDS_TO_CATCH_UP = 240
LOST_RESPONSES = (
    *(ApiKey.PRODUCE,) * 4,
    *(ApiKey.OFFSET_COMMIT,) * 2,
    ApiKey.FETCH,
    ApiKey.HEARTBEAT,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.JOIN_GROUP,
    ApiKey.METADATA,
    ApiKey.OFFSET_FETCH,
    ApiKey.SYNC_GROUP,
    *(ApiKey.END_TXN,) * 4,
    *(ApiKey.TXN_OFFSET_COMMIT,) * 2,
)


class Chaos:
    """One run: :meth:`run` does it all, ``faults`` counts what went wrong by kind."""

    def __init__(self, seed: int) -> None:
        self.faults: Counter[str] = Counter()
        self._random = Random(seed)
        self._folder = Path(tempfile.mkdtemp(prefix="chaos-"))
        self._clients: dict[Job, subprocess.Popen[bytes]] = {}
        self._number = 0
        self._to_lose: list[ApiKey] = []

    @property
    def history_file(self) -> Path:
        return self._folder / "history.jsonl"

    def run(self, seconds: float) -> Report:
        """Let things go wrong for so long, then let all end well, and check the history."""
        port, self._port = free_ports(2)
        options = ("--advertise", f"127.0.0.1:{self._port}")
        with ExitStack() as stack:
            self._broker = BrokerProcess(self._folder / "broker", *options, port=port)
            stack.enter_context(self._broker)
            stack.enter_context(Proxy(self._port, port, self._to_lose))
            stack.callback(self._kill_clients)
            with Admin(self._bootstrap) as admin:
                topics = [NewTopic(topic, partitions=3) for topic in TOPICS]
                topics += [NewTopic(topic, partitions=2) for topic in CHAIN_TOPICS]
                admin.create_topics(topics)
            for slot in SLOTS:
                self._start(slot)
            self._await_clients()
            self._go_wrong(seconds)
            self._end_well()
        self._gather()
        return check(read_history(self.history_file))

    @property
    def _bootstrap(self) -> str:
        return f"127.0.0.1:{self._port}"

    # -- what goes wrong ---------------------------------------------------------------------------

    def _go_wrong(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(self._random.uniform(0.2, 3.0))
            self._restart_what_ended()
            fault = self._random.choices(
                [
                    self._lose_a_response,
                    self._kill_a_client,
                    self._stop_a_client,
                    self._kill_broker,
                ],
                weights=[10, 4, 2, 2],
            )[0]
            fault()

    def _lose_a_response(self) -> None:
        api = self._random.choice(LOST_RESPONSES)
        self.faults[f"response to {api.api_name} lost"] += 1
        self._to_lose.append(api)

    def _kill_a_client(self) -> None:
        job = self._random.choice(list(self._clients))
        self.faults[f"{job.role} killed"] += 1
        process = self._clients.pop(job)
        process.kill()
        process.wait()
        if all(other.slot != job.slot for other in self._clients):
            self._start(job.slot)

    def _stop_a_client(self) -> None:
        """Stop a process for some seconds, so that its group goes on without it."""
        job, process = self._random.choice(list(self._clients.items()))
        self.faults[f"{job.role} stopped"] += 1
        process.send_signal(signal.SIGSTOP)
        if job.role in TRANSACTIONAL and self._random.random() < 0.5:
            self.faults[f"{job.role} replaced while stopped"] += 1
            self._start(job.slot)
        time.sleep(self._random.choice((1.0, 8.0)))
        process.send_signal(signal.SIGCONT)

    def _kill_broker(self) -> None:
        self.faults["broker killed"] += 1
        self._broker.kill()
        time.sleep(self._random.uniform(0.0, 3.0))
        self._broker.start()

    # -- clients -----------------------------------------------------------------------------------

    def _start(self, slot: str) -> None:
        self._number += 1
        role = slot.partition("-")[0].rstrip("0123456789")
        name = f"{slot}.{self._number}"
        file = self._folder / f"{name}.jsonl"
        job = Job(role, slot, name, self._bootstrap, str(file), self._number)
        with (self._folder / f"{name}.log").open("wb") as log:
            self._clients[job] = subprocess.Popen(
                job.command,
                stderr=log,
                env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
            )

    def _await_clients(self) -> None:
        """Wait until each client has begun to write its history; a slow machine takes a while."""
        deadline = time.monotonic() + SECONDS_TO_START
        for job in self._clients:
            file = Path(job.file)
            while not file.exists() or not file.stat().st_size:
                if time.monotonic() > deadline:
                    raise AssertionError(f"{job.name} does not begin: see {job.file}")
                time.sleep(0.1)

    def _restart_what_ended(self) -> None:
        """Replace clients that ended: were fenced, or gave up while the broker was down."""
        for job, process in list(self._clients.items()):
            if process.poll() is not None:
                self.faults[f"{job.role} ended"] += 1
                del self._clients[job]
                if all(other.slot != job.slot for other in self._clients):
                    self._start(job.slot)

    def _kill_clients(self) -> None:
        for process in self._clients.values():
            process.kill()
            process.wait()

    def _stop(self, role: str) -> None:
        stopped = [job for job in self._clients if job.role == role]
        for job in stopped:
            self._clients[job].terminate()
        for job in stopped:
            try:
                self._clients.pop(job).wait(150)
            except subprocess.TimeoutExpired:
                raise AssertionError(f"{job.name} does not end: see {job.file}") from None

    # -- the end -----------------------------------------------------------------------------------

    def _end_well(self) -> None:
        self._to_lose.clear()
        self._restart_what_ended()
        self._stop("producer")
        self._stop("writer")
        with (self._folder / "auditor.jsonl").open("w", encoding="utf-8") as file:
            recorder = Recorder(time.monotonic, file=file)
            asyncio.run(self._catch_up(recorder))
            self._stop("member")
            self._stop("stage")
            asyncio.run(self._audit(recorder))

    def _consumer(
        self, recorder: Recorder, name: str, group: str | None, isolation: str = "read_uncommitted"
    ) -> RecordedConsumer:
        consumer: AsyncConsumer[bytes, bytes] = AsyncConsumer(
            self._bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            isolation_level=isolation,
            enable_auto_commit=False,
        )
        return RecordedConsumer(recorder, name, consumer, isolation=isolation, group=group)

    async def _catch_up(self, recorder: Recorder) -> None:
        """Wait until the groups have committed all that there is, and no transaction is open."""
        observer = self._consumer(recorder, "observer", GROUP)
        stable_reader = self._consumer(recorder, "reader", None, "read_committed")
        deadline = time.monotonic() + SECONDS_TO_CATCH_UP
        seen: dict[TopicPartition, int] = {}
        async with observer.consumer, stable_reader.consumer:
            while time.monotonic() < deadline:
                committed = await observer.read_offsets(PARTITIONS)
                ends = await observer.consumer.end_offsets(PARTITIONS)
                has_read = all(committed.get(each, 0) == end for each, end in ends.items())
                written = await observer.consumer.end_offsets(CHAIN_PARTITIONS)
                stable = await stable_reader.consumer.end_offsets(CHAIN_PARTITIONS)
                if has_read and written == stable == seen:
                    return
                seen = written
                await asyncio.sleep(2 * TRANSACTION_TIMEOUT)
        raise AssertionError(f"not caught up: {committed} of {ends}, stable {stable} of {written}")

    async def _audit(self, recorder: Recorder) -> None:
        for isolation, partitions in (
            ("read_uncommitted", [*PARTITIONS, *CHAIN_PARTITIONS]),
            ("read_committed", CHAIN_PARTITIONS),
        ):
            auditor = self._consumer(recorder, f"auditor of {isolation}", None, isolation)
            async with auditor.consumer:
                await auditor.read_to_the_end(partitions)

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
