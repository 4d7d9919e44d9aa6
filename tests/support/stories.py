"""Histories that tests write by hand, one step after another, a second apart."""

from __future__ import annotations

from typing import Any, Self

from pykcheck import Recorder, Report, check


class Story:
    """A history in the making. Each call is an operation, invoked and completed at once."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._recorder = Recorder(self._tick)

    def _tick(self) -> float:
        self._seconds += 1.0
        return self._seconds

    def start(self, process: str, kind: str, **fields: Any) -> int:
        """Invoke an operation that :meth:`end` completes later, or nothing."""
        return self._recorder.invoke(process, kind, **fields)

    def end(self, operation: int, outcome: str = "ok", **fields: Any) -> Self:
        self._recorder.complete(operation, outcome, **fields)
        return self

    def send(
        self, process: str, value: str, place: str, *, outcome: str = "ok", **fields: Any
    ) -> Self:
        """Send to ``place``, such as ``t-0@5``; the offset is what an acknowledgement says."""
        partition, _, offset = place.partition("@")
        fields["partition"] = partition
        operation = self.start(process, "send", value=value, **fields)
        return self.end(operation, outcome, offset=int(offset) if offset else None)

    def begin(
        self, process: str, transaction: str, transactional_id: str = "id", **fields: Any
    ) -> Self:
        fields |= {"transaction": transaction, "transactional_id": transactional_id}
        return self._do(process, "begin", **fields)

    def init(self, process: str, transactional_id: str = "id") -> Self:
        return self._do(process, "init", transactional_id=transactional_id)

    def commit(self, process: str, transaction: str, *, outcome: str = "ok") -> Self:
        return self.end(self.start(process, "commit", transaction=transaction), outcome)

    def abort(self, process: str, transaction: str, *, outcome: str = "ok") -> Self:
        return self.end(self.start(process, "abort", transaction=transaction), outcome)

    def poll(
        self, process: str, *records: str, positions: dict[str, int] | None = None, **fields: Any
    ) -> Self:
        """Read ``records``, each such as ``a=t-0@5``."""
        operation = self.start(process, "poll", **fields)
        read = []
        for record in records:
            value, _, place = record.partition("=")
            partition, _, offset = place.partition("@")
            read.append((partition, int(offset), value))
        return self.end(operation, records=read, positions=positions or {})

    def commit_offsets(
        self, process: str, offsets: dict[str, int], *, outcome: str = "ok", **fields: Any
    ) -> Self:
        operation = self.start(process, "commit_offsets", group="g", offsets=offsets, **fields)
        return self.end(operation, outcome)

    def read_offsets(self, process: str, offsets: dict[str, int]) -> Self:
        return self.end(self.start(process, "read_offsets", group="g"), offsets=offsets)

    def assign(self, process: str, *partitions: str) -> Self:
        return self._do(process, "assign", partitions=list(partitions))

    def end_offsets(self, offsets: dict[str, int]) -> Self:
        return self.end(self.start("auditor", "end_offsets"), offsets=offsets)

    def _do(self, process: str, kind: str, **fields: Any) -> Self:
        return self.end(self.start(process, kind, **fields))

    def report(self) -> Report:
        return check(self._recorder.history())

    @property
    def anomalies(self) -> set[str]:
        """The classes of anomalies in it."""
        return set(self.report().counts)
