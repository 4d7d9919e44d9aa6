"""What a client is to do, and the clients that it does it with."""

from __future__ import annotations

import sys
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from random import Random
from typing import Any

import attrs

from pyk.clients import (
    AsyncConsumer,
    AsyncProducer,
    AsyncShareConsumer,
    Consumer,
    Producer,
    ShareConsumer,
)
from pykcheck import Recorder
from support.recorded_clients import RecordedConsumer
from support.recorded_decisions import Decisions
from support.recorded_transactions import TRANSACTION_TIMEOUT, TransactionalProducer
from support.recorded_two_phases import NO_TIMEOUT

from .blocking import InThreads


@attrs.frozen
class Job:
    """What a client does: its role, its name, where the cluster is, and where its history goes.

    A ``slot`` has one client at a time, and one transactional id: ``stage1-0`` is the first of the
    clients that transform what is in the topic ``stage1``. Chance decides whether the client is a
    blocking one.
    """

    role: str
    slot: str
    name: str
    bootstrap: str
    file: str
    number: int = attrs.field(converter=int)
    seed: int = attrs.field(converter=int)

    @property
    def command(self) -> list[str]:
        arguments = [str(value) for value in attrs.astuple(self)]
        return [sys.executable, "-m", "chaos.client", *arguments]

    @property
    def random(self) -> Random:
        """Return what the client decides its course by."""
        return Random(f"{self.seed} {self.number}")

    @property
    def is_blocking(self) -> bool:
        """Whether it uses blocking clients."""
        return Random(f"{self.seed} {self.number} form").random() < 0.4

    @property
    def decisions(self) -> Decisions:
        """Return what is decided about prepared transactions."""
        return Decisions(TextFiles(Path(self.file).parent / "decisions"))

    def producer(self, **options: Any) -> AsyncProducer[bytes, bytes]:
        return self._client(AsyncProducer, Producer, options)

    def consumer(
        self, recorder: Recorder, *, isolation: str, group: str | None, max_poll_records: int
    ) -> RecordedConsumer:
        consumer: AsyncConsumer[bytes, bytes] = self._client(
            AsyncConsumer,
            Consumer,
            {
                "group_id": group,
                "auto_offset_reset": "earliest",
                "isolation_level": isolation,
                "enable_auto_commit": False,
                "session_timeout_ms": 6_000,
                "heartbeat_interval_ms": 1_000,
                "max_poll_records": max_poll_records,
            },
        )
        return RecordedConsumer(recorder, self.name, consumer, isolation=isolation, group=group)

    def group_consumer(self, **options: Any) -> AsyncConsumer[bytes, bytes]:
        """Return a member of a group that starts at the beginning."""
        return self._client(
            AsyncConsumer,
            Consumer,
            {
                "auto_offset_reset": "earliest",
                "enable_auto_commit": False,
                "auto_commit_interval_ms": 500,
                "max_poll_interval_ms": 60_000,
                **options,
            },
        )

    def share_consumer(self, **options: Any) -> AsyncShareConsumer[bytes, bytes]:
        return self._client(AsyncShareConsumer, ShareConsumer, options)

    def transactional_producer(
        self,
        recorder: Recorder,
        numbers: Iterator[int] | None = None,
        *,
        is_two_phase: bool = False,
    ) -> TransactionalProducer:
        """Return the next producer of the slot, by whose name it has its transactional id."""
        timeout = NO_TIMEOUT if is_two_phase else TRANSACTION_TIMEOUT
        options: dict[str, Any] = {"transaction_timeout_ms": round(timeout * 1000)}
        if is_two_phase:
            options = {"transaction_two_phase_commit_enable": True}
        # Calls that time out after seconds leave outcomes that the application does not know.
        producer = self.producer(
            transactional_id=self.slot,
            max_block_ms=self.random.choice((4_000, 60_000)),
            **options,
        )
        return TransactionalProducer(
            recorder, self.name, producer, self.slot, numbers, timeout=timeout
        )

    def _client(self, awaited: Any, blocking: Any, options: dict[str, Any]) -> Any:
        if not self.is_blocking:
            return awaited(self.bootstrap, client_id=self.name, **options)
        return InThreads(blocking(self.bootstrap, client_id=self.name, **options))


class TextFiles(MutableMapping[str, str]):
    """Texts in files of a folder. Each is there in whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True)

    def __getitem__(self, name: str) -> str:
        try:
            return self._file(name).read_text()
        except FileNotFoundError:
            raise KeyError(name) from None

    def __setitem__(self, name: str, text: str) -> None:
        work = self._folder / f"{name}.new"
        work.write_text(text)
        work.rename(self._file(name))

    def __delitem__(self, name: str) -> None:
        try:
            self._file(name).unlink()
        except FileNotFoundError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return (file.stem for file in self._folder.glob("*.text"))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.text"
