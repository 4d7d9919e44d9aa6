"""Create the internal topics of streams groups, and remember for a while why that failed.

A heartbeat that misses topics has them created but does not wait for them: the next ones tell the
member. A topic that could not be created is tried again once the failure is forgotten.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from pyk.protocol.errors import ErrorCode

from .topic_creation import CreationResult

if TYPE_CHECKING:
    from pyk.protocol.messages.create_topics import CreatableTopic

    from .deferred import Deferred

log = logging.getLogger(__name__)

MAX_FAILURES = 1000
"""How many failures are remembered: the oldest is forgotten first."""

Create = Callable[["CreatableTopic"], "Deferred[CreationResult]"]
"""Has the controller create a topic for the client that asks."""


class InternalTopics:
    """The internal topics that this broker has being created."""

    def __init__(self, time_ms: Callable[[], int]) -> None:
        self._time_ms = time_ms
        self._being_created: set[str] = set()
        self._failures: dict[str, tuple[str, int]] = {}
        """Why topics could not be created, and until when that counts."""

    def create(self, topics: Iterable[CreatableTopic], create: Create, *, remember_ms: int) -> None:
        """Create those that are not being created, and have not just failed."""
        for topic in topics:
            if topic.name not in self._being_created and not self.failures([topic.name]):
                self._being_created.add(topic.name)
                self._begin(topic, create, remember_ms)

    def failures(self, names: Iterable[str]) -> dict[str, str]:
        """Return why topics could not be created, of those that failed a short while ago."""
        now = self._time_ms()
        return {
            name: self._failures[name][0]
            for name in names
            if name in self._failures and now < self._failures[name][1]
        }

    def _begin(self, topic: CreatableTopic, create: Create, remember_ms: int) -> None:
        def created(result: CreationResult) -> None:
            code, message = result
            self._being_created.discard(topic.name)
            self._failures.pop(topic.name, None)
            if code is ErrorCode.NONE:
                log.info("Created the internal topic %r", topic.name)
                return
            log.warning("Could not create the internal topic %r: %s", topic.name, code.name)
            while len(self._failures) >= MAX_FAILURES:
                del self._failures[next(iter(self._failures))]
            reason = message or code.name
            self._failures[topic.name] = reason, self._time_ms() + remember_ms

        create(topic).when_done(created)
