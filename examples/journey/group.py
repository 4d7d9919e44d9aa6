"""A consumer group whose members come and go while it reads."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

from examples.journey.text import Counts, package_of
from pyk.clients import Consumer

POLL_SECONDS = 0.2


class Member(threading.Thread):
    """One consumer of the group: counts lines and words, and keeps the offsets that it read."""

    def __init__(self, bootstrap: str, topic: str, group: str, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._consumer = Consumer(
            bootstrap,
            topics=[topic],
            group_id=group,
            client_id=name,
            auto_offset_reset="earliest",
            partition_assignment_strategy=["cooperative-sticky"],
        )
        self._leaving = threading.Event()
        self.counts = Counts()
        self.read: list[tuple[int, int]] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            with self._consumer as consumer:
                while not self._leaving.is_set():
                    for record in consumer.poll(POLL_SECONDS, max_records=2_000):
                        self.read.append((record.partition, record.offset))
                        self.counts.add(package_of(record.key.decode()), record.value)
        except BaseException as error:
            self.error = error

    def leave(self) -> None:
        """Commit the finished records, leave the group, and wait until that is done."""
        self._leaving.set()
        self.join()
        if self.error is not None:
            raise self.error


class Group:
    """Members that share a topic, and their total counts."""

    def __init__(self, bootstrap: str, topic: str, say: Callable[[str], None]) -> None:
        self._arguments = (bootstrap, topic, "journey-readers")
        self._say = say
        self._present: list[Member] = []
        self.members: list[Member] = []

    def join(self) -> None:
        """Let one more member join."""
        member = Member(*self._arguments, f"reader-{len(self.members) + 1}")
        member.start()
        self.members.append(member)
        self._present.append(member)
        self._say(f"{member.name} joins the group")

    def leave(self) -> None:
        """Let the oldest member leave."""
        member = self._present.pop(0)
        member.leave()
        self._say(f"{member.name} leaves the group, having read {len(member.read):,} records")

    def close(self) -> None:
        while self._present:
            self.leave()

    @property
    def consumed(self) -> int:
        return sum(len(member.read) for member in self.members)

    def check(self) -> None:
        """Raise the error of a member that failed, if any."""
        for member in self.members:
            if member.error is not None:
                raise member.error

    def counts(self) -> Counts:
        """Return the counts of all members together."""
        total = Counts()
        for member in self.members:
            for package, count in member.counts.items():
                sum_ = total.setdefault(package, type(count)())
                sum_.lines += count.lines
                sum_.words += count.words
        return total

    def times_read(self) -> Counter[tuple[int, int]]:
        """Return how often each (partition, offset) was read, by all members together."""
        return Counter(offset for member in self.members for offset in member.read)
