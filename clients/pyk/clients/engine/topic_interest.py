"""Track which topics are in use, to request metadata of these only. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pyk.runtime import slotted


@slotted.define
class TopicInterest:
    """The topics that each user of a client needs, and those that callers wait for.

    Metadata of a topic is requested as long as one of them names it. A user names all of its topics
    at once, which replaces what it named before: no topic that it has stopped using is left over.
    """

    wants_all: bool = False
    _by_user: dict[str, set[str]] = slotted.field(factory=dict)
    _awaited: Counter[str] = slotted.field(factory=Counter)

    @property
    def topics(self) -> frozenset[str]:
        """The topics that are needed."""
        return frozenset(self._awaited).union(*self._by_user.values())

    def needs(self, topic: str) -> bool:
        """Return whether a topic is needed."""
        return topic in self._awaited or any(topic in used for used in self._by_user.values())

    def is_awaited(self, topic: str) -> bool:
        """Return whether a call waits for a topic at this moment."""
        return topic in self._awaited

    def use(self, user: str, topics: Iterable[str]) -> None:
        """Replace the topics that a user needs."""
        self._by_user[user] = set(topics)

    def also_use(self, user: str, topics: Iterable[str]) -> None:
        """Add ``topics`` to those that a user needs."""
        self._by_user.setdefault(user, set()).update(topics)

    def begin_wait(self, topics: Iterable[str]) -> None:
        """Need topics for as long as a call lasts."""
        self._awaited.update(topics)

    def end_wait(self, topics: Iterable[str]) -> None:
        self._awaited -= Counter(topics)
