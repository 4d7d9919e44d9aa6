"""Read a history: what processes asked for, what came of it, and when.

A history is a file of JSON lines, one event a line, described in ``README.md``. An operation is
invoked by one event and completed by another; an operation without a completion is one whose
outcome nobody knows. All times are seconds of one clock.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

NEVER = math.inf
DEFAULT_TRANSACTION_TIMEOUT = 60.0
"""Seconds: ``transaction.timeout.ms`` of Kafka's producers."""


class Outcome(Enum):
    """How an operation ended."""

    OK = "ok"
    FAILED = "failed"
    """It certainly had no effect."""
    UNKNOWN = "unknown"
    """It may have had its effect, may have it later, or never."""


@dataclass(slots=True, kw_only=True)
class Operation:
    """What every operation has. ``order`` and ``ended`` are the numbers of its events."""

    order: int
    process: str
    invoked: float
    completed: float = NEVER
    ended: float = NEVER
    outcome: Outcome = Outcome.UNKNOWN

    @property
    def is_ok(self) -> bool:
        return self.outcome is Outcome.OK

    @property
    def has_failed(self) -> bool:
        return self.outcome is Outcome.FAILED


@dataclass(slots=True, kw_only=True)
class Init(Operation):
    """A producer takes over a transactional id, and fences the one that had it."""

    transactional_id: str


@dataclass(slots=True, kw_only=True)
class Begin(Operation):
    """A transaction begins. ``timeout`` is that of the transaction, in seconds."""

    transaction: str
    transactional_id: str
    timeout: float = DEFAULT_TRANSACTION_TIMEOUT


@dataclass(slots=True, kw_only=True)
class Send(Operation):
    """A value is sent. No two sends of a history have the same value."""

    value: str
    partition: str | None = None
    offset: int | None = None
    transaction: str | None = None
    source: str | None = None
    """What the value was made from, for what has to be made once only."""


@dataclass(slots=True, kw_only=True)
class Poll(Operation):
    """Records are read: (partition, offset, value), in the order in which they were handed out."""

    isolation: str = "read_committed"
    group: str | None = None
    transaction: str | None = None
    records: list[tuple[str, int, str]] = field(default_factory=list)
    positions: dict[str, int] = field(default_factory=dict)
    """The offsets that the reader would read next."""

    @property
    def is_read_committed(self) -> bool:
        return self.isolation == "read_committed"


@dataclass(slots=True, kw_only=True)
class Commit(Operation):
    """A transaction is to be committed."""

    transaction: str


@dataclass(slots=True, kw_only=True)
class Abort(Operation):
    """A transaction is to be aborted."""

    transaction: str


@dataclass(slots=True, kw_only=True)
class CommitOffsets(Operation):
    """A group commits offsets, in a transaction or outside of any."""

    group: str
    offsets: dict[str, int]
    transaction: str | None = None


@dataclass(slots=True, kw_only=True)
class ReadOffsets(Operation):
    """The committed offsets of a group are read; a partition without one is left out."""

    group: str
    offsets: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Assign(Operation):
    """A reader goes on at other positions: a rebalance, a seek, or the start."""

    partitions: list[str]


@dataclass(slots=True, kw_only=True)
class EndOffsets(Operation):
    """The ends of partitions are read, after readers have read all that they can."""

    offsets: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Crash(Operation):
    """A process ends without a word; what it had open it never ends."""


KINDS: dict[str, type[Operation]] = {
    "init": Init,
    "begin": Begin,
    "send": Send,
    "poll": Poll,
    "commit": Commit,
    "abort": Abort,
    "commit_offsets": CommitOffsets,
    "read_offsets": ReadOffsets,
    "assign": Assign,
    "end_offsets": EndOffsets,
    "crash": Crash,
}


class HistoryError(ValueError):
    """A history is not one: it says which line is wrong, and how."""


@dataclass(slots=True)
class History:
    """Operations by kind, each list in the order of invocation."""

    operations: list[Operation] = field(default_factory=list)

    def of(self, kind: type[Any]) -> list[Any]:
        """Return the operations of one kind."""
        return [operation for operation in self.operations if type(operation) is kind]


def read_history(path: str | Path) -> History:
    """Read a history from a file; raise ``HistoryError`` at the first invalid line."""
    with Path(path).open(encoding="utf-8") as lines:
        return history_of(json.loads(line) for line in lines if line.strip())


def history_of(events: Iterable[Mapping[str, Any]]) -> History:
    """Make a history of events; raise ``HistoryError`` at the first invalid one."""
    operations: dict[int, Operation] = {}
    for number, event in enumerate(events, 1):
        try:
            _add(operations, number, event)
        except (KeyError, TypeError, ValueError) as error:
            raise HistoryError(f"event {number}: {error!r} in {dict(event)!r}") from error
    history = History(list(operations.values()))
    _require_distinct_values(history)
    return history


def _require_distinct_values(history: History) -> None:
    values: set[str] = set()
    for send in history.of(Send):
        if send.value in values:
            raise HistoryError(f"{send.value!r} is sent twice; every send needs a value of its own")
        values.add(send.value)


def _add(operations: dict[int, Operation], order: int, event: Mapping[str, Any]) -> None:
    number = event["op"]
    if event["type"] == "invoke":
        if number in operations:
            raise ValueError(f"operation {number} is invoked twice")
        operations[number] = _invoked(order, event)
        return
    operation = operations[number]
    if operation.ended != NEVER:
        raise ValueError(f"operation {number} is completed twice")
    operation.outcome = Outcome(event["type"])
    operation.completed, operation.ended = event["time"], order
    for name, value in event.items():
        if name not in _EVENT_FIELDS:
            setattr(operation, name, _field(name, value))


_EVENT_FIELDS = frozenset({"op", "type", "time", "process", "f"})


def _invoked(order: int, event: Mapping[str, Any]) -> Operation:
    fields = {name: _field(name, e) for name, e in event.items() if name not in _EVENT_FIELDS}
    kind = KINDS[event["f"]]
    return kind(order=order, process=event["process"], invoked=event["time"], **fields)


def _field(name: str, value: Any) -> Any:
    if name == "records":
        return [(partition, offset, text) for partition, offset, text in value]
    return value
