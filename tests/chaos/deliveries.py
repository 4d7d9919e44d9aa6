"""Find what groups may not do in what their members noted. Pure: no cluster is asked.

Notes are those of :mod:`chaos.notes`, in the order of their times; the logs are what partitions
hold at the end.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

Note = Mapping[str, Any]
Place = tuple[str, int]
"""Partition and offset."""
FINAL = frozenset({"accept", "reject"})


def unhandled(group: str, notes: Iterable[Note], log: Mapping[Place, str]) -> list[str]:
    """Return values of the logs that no member of a group has handled."""
    handled = {
        (note["partition"], note["offset"], note["value"])
        for note in notes
        if note["f"] == "handled" and note["group"] == group
    }
    return [
        f"{group} never handled {value} at {partition}@{offset}"
        for (partition, offset), value in log.items()
        if (partition, offset, value) not in handled
    ]


def commits_that_went_back(commits: Iterable[tuple[str, str, int]]) -> list[str]:
    """Return offsets that are below those stored before: (group, partition, offset) in order."""
    last: dict[tuple[str, str], int] = {}
    found = []
    for group, partition, offset in commits:
        before = last.get((group, partition), 0)
        if offset < before:
            found.append(f"{group} went back from {before} to {offset} in {partition}")
        last[group, partition] = offset
    return found


class Owners:
    """Find partitions that two members owned at a time.

    A member that was thrown out hears of it late, and is told that its partitions are lost. One
    whose process was stopped since its assignment may give them up before it hears. Of all others,
    what is revoked must not have been assigned to another member in between.
    """

    def __init__(self, group: str) -> None:
        self.found: list[str] = []
        self._group = group
        self._since: dict[tuple[str, str], float] = {}
        """When a process was assigned a partition that it has."""
        self._last: dict[str, tuple[str, float]] = {}
        """Who was assigned a partition last, and when."""
        self._stopped: dict[str, float] = {}

    def add(self, note: Note) -> None:
        """Take the next note."""
        process, now = note["process"], note["time"]
        if note["f"] == "stopped":
            self._stopped[process] = now
        elif note.get("group") == self._group:
            for partition in note.get("partitions", ()):
                self._moved(note["f"], process, partition, now)

    def _moved(self, kind: str, process: str, partition: str, now: float) -> None:
        if kind == "assigned":
            self._since[process, partition] = now
            self._last[partition] = process, now
            return
        since = self._since.pop((process, partition), now)
        other, taken = self._last.get(partition, (process, now))
        was_stopped = self._stopped.get(process, -1.0) >= since
        if kind == "revoked" and other != process and taken > since and not was_stopped:
            self.found.append(
                f"{self._group}: {process} gave up {partition} at {now:.3f}, "
                f"{other} had it since {taken:.3f}"
            )


def two_owners(group: str, notes: Iterable[Note]) -> list[str]:
    """Return the partitions of a group that two members owned at a time."""
    owners = Owners(group)
    for note in notes:
        owners.add(note)
    return owners.found


class ShareAudit:
    """What became of the records of a share group."""

    def __init__(self, limit: int) -> None:
        self.outcomes: Counter[str] = Counter()
        self._limit = limit
        self._values: dict[Place, str] = {}
        self._most: Counter[Place] = Counter()
        self._kinds: defaultdict[Place, set[str]] = defaultdict(set)
        self._said: dict[tuple[str, str, int], tuple[str, int]] = {}
        """What a process last said of a record, and its delivery count there."""
        self._ended: dict[Place, int] = {}
        """The delivery count with which a record was accepted or rejected, and that confirmed."""
        self._found: list[str] = []

    def add(self, note: Note) -> None:
        """Take the next note."""
        if note["f"] == "delivered":
            self._delivered(note)
        elif note["f"] == "acknowledged":
            for start, stop in note["ranges"]:
                for offset in range(start, stop):
                    self._settled(note, (note["partition"], offset))

    def _delivered(self, note: Note) -> None:
        place = note["partition"], note["offset"]
        self._values[place] = note["value"]
        self._kinds[place].add(note["said"])
        self._said[note["process"], *place] = note["said"], note["count"]
        self._most[place] = max(self._most[place], note["count"])
        if not 1 <= note["count"] <= self._limit:
            self._found.append(f"{note['value']} had delivery count {note['count']}")
        if place in self._ended and note["count"] > self._ended[place]:
            self._found.append(f"{place[0]}@{place[1]} was delivered again after it was finished")

    def _settled(self, note: Note, place: Place) -> None:
        # What a member gives back without having handed it out has no kind.
        kind, count = self._said.pop((note["process"], *place), (None, 0))
        if note["error"] is None and kind in FINAL:
            # Brokers confirm whatever is said of offsets before the start offset: a member whose
            # lock was over hears no error once another one has finished the record.
            self._ended.setdefault(place, count)

    def anomalies(self, log: Mapping[Place, str]) -> list[str]:
        """Return what is wrong once all of the log is finished, and count the ``outcomes``."""
        found = list(self._found)
        for place, value in log.items():
            name = f"{value} at {place[0]}@{place[1]}"
            if place not in self._values:
                self.outcomes["never delivered"] += 1
                found.append(f"{name} was never delivered")
            elif self._values[place] != value:
                found.append(f"{name} was delivered as {self._values[place]}")
            elif place in self._ended:
                self.outcomes["accepted or rejected"] += 1
            elif self._kinds[place] & FINAL:
                self.outcomes["acknowledged without confirmation"] += 1
            else:
                # What a member has acquired and gives back unread counts as delivered, too.
                is_seen = self._most[place] == self._limit
                self.outcomes["ended by its limit" if is_seen else "ended, partly unread"] += 1
        return found
