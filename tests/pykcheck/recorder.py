"""Write a history while it happens."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any, TextIO

from .history import History, history_of


class Recorder:
    """Take down what is invoked and completed, with the time of one clock, in seconds.

    ``file`` gets each event as it happens, so that a process that is killed leaves all that it did.
    Processes that write files of their own need ``first_operation`` numbers that are far apart.
    Threads may share one.
    """

    def __init__(
        self, now: Callable[[], float], *, file: TextIO | None = None, first_operation: int = 0
    ) -> None:
        self.events: list[dict[str, Any]] = []
        self._now = now
        self._file = file
        self._numbers = count(first_operation)
        self._lock = Lock()

    def invoke(self, process: str, kind: str, **fields: Any) -> int:
        """Record that a process asks for something; return the number of the operation."""
        number = next(self._numbers)
        self._add({"op": number, "type": "invoke", "process": process, "f": kind, **fields})
        return number

    def complete(self, operation: int, outcome: str = "ok", **fields: Any) -> None:
        """Record how an operation ended: ``ok``, ``failed`` or ``unknown``."""
        self._add({"op": operation, "type": outcome, **fields})

    def history(self) -> History:
        """Return what was recorded so far."""
        return history_of(self.events)

    def save(self, path: str | Path) -> None:
        """Write all events to a file."""
        with Path(path).open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(event) + "\n" for event in self.events)

    def _add(self, event: dict[str, Any]) -> None:
        with self._lock:
            event["time"] = self._now()
            self.events.append(event)
            if self._file is not None:
                self._file.write(json.dumps(event) + "\n")
                self._file.flush()
