"""Put together the log of each partition from all that processes saw of it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property

from .history import EndOffsets, History, Poll, Send


@dataclass
class Log:
    """One partition, as acknowledgements and readers show it."""

    values: dict[int, str] = field(default_factory=dict)
    """By offset; the first value seen there, if there are several."""
    visible: set[int] = field(default_factory=set)
    """The offsets that ``read_committed`` readers were handed."""
    read: set[int] = field(default_factory=set)
    """The offsets that any readers were handed."""
    read_to: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})
    """How far readers read: those of ``read_committed`` (True), and all (False)."""
    audited: float = -1.0
    """When its end was last asked for, which is after readers have read all that they can."""

    @cached_property
    def visible_in_order(self) -> list[int]:
        return sorted(self.visible)

    @cached_property
    def read_in_order(self) -> list[int]:
        return sorted(self.read)


class Logs:
    """All partitions of a history."""

    def __init__(self, history: History) -> None:
        self.by_partition: dict[str, Log] = defaultdict(Log)
        self.offsets: dict[str, list[tuple[str, int]]] = defaultdict(list)
        """Where each value was seen, each (partition, offset) once, in order of appearance."""
        self._committed_values: set[str] = set()
        self._read_values: set[str] = set()
        for operation in history.operations:
            if isinstance(operation, Send):
                self._add_send(operation)
            elif isinstance(operation, Poll):
                self._add_poll(operation)
            elif isinstance(operation, EndOffsets) and operation.is_ok:
                for partition in operation.offsets:
                    self.by_partition[partition].audited = operation.invoked

    def place(self, send: Send) -> tuple[str, int] | None:
        """Return the partition and offset of a value, None if nobody saw it."""
        found = self.offsets.get(send.value)
        return found[0] if found else None

    def is_visible(self, send: Send) -> bool:
        """Return whether a reader was handed a value; one that reads what is committed, if it was
        sent in a transaction."""
        return send.value in (self._committed_values if send.transaction else self._read_values)

    def is_missing(self, send: Send) -> bool:
        """Return whether no reader got a value, although they read past it, or all there is."""
        if self.is_visible(send) or send.partition is None:
            return False
        log = self.by_partition[send.partition]
        if send.offset is not None and send.offset < log.read_to[send.transaction is not None]:
            return True
        return log.audited >= send.completed

    def _add_send(self, send: Send) -> None:
        if send.is_ok and send.offset is not None and send.partition is not None:
            self.by_partition[send.partition].values.setdefault(send.offset, send.value)
            self._saw(send.value, send.partition, send.offset)

    def _add_poll(self, poll: Poll) -> None:
        committed = poll.is_read_committed
        for partition, offset, value in poll.records:
            log = self.by_partition[partition]
            log.values.setdefault(offset, value)
            log.read.add(offset)
            if committed:
                log.visible.add(offset)
                self._committed_values.add(value)
            self._read_values.add(value)
            self._saw(value, partition, offset)
            _advance(log, committed, offset + 1)
        for partition, position in poll.positions.items():
            _advance(self.by_partition[partition], committed, position)

    def _saw(self, value: str, partition: str, offset: int) -> None:
        places = self.offsets[value]
        if (partition, offset) not in places:
            places.append((partition, offset))


def _advance(log: Log, committed: bool, position: int) -> None:
    for kind in (False, True) if committed else (False,):
        if position > log.read_to[kind]:
            log.read_to[kind] = position
