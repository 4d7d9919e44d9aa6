"""The events of a consumer for its application: rebalances and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyk.clients.consumer.buffer.fetch_buffer import FetchBuffer
from pyk.clients.consumer.buffer.read_buffer import EVENT
from pyk.clients.errors import KafkaError

if TYPE_CHECKING:
    from pyk.clients.consumer.group.actions import ApplicationEvent
    from pyk.clients.consumer.group.consumer_group import ConsumerGroup


class ApplicationEvents:
    """Hands events to the application one by one, when it comes for records or leaves.

    ``take_error`` returns an error of a topic that the application has not got yet; ``check``
    raises if the consumer cannot be used.
    """

    def __init__(
        self,
        group: ConsumerGroup | None,
        buffer: FetchBuffer,
        *,
        take_error: Callable[[], KafkaError | None],
        check: Callable[[], None],
    ) -> None:
        self._group = group
        self._buffer = buffer
        self._take_error = take_error
        self._check = check

    async def begin(self, deadline: float | None) -> ApplicationEvent | None:
        """Return the next event for the application, None if there is none.

        If there is one, attention is called for again: an error, for instance of its listener, or a
        signal may keep the application from the rest.
        """
        self._check()
        self._buffer.clear_attention(EVENT)
        has_nothing = False
        try:
            error = self._take_error()
            if error is not None:
                raise error
            event = None if self._group is None else await self._group.begin_event(deadline)
            has_nothing = event is None
            return event
        finally:
            if not has_nothing:
                self._buffer.call_attention(EVENT)

    async def finish(self, event: ApplicationEvent) -> None:
        """Record at once that the application has handled an event."""
        if self._group is not None:
            self._group.finish_event(event)

    async def at_the_end(self, deadline: float) -> list[ApplicationEvent]:
        """Commit what is finished; return the last event for the application before it leaves."""
        if self._group is None:
            return []
        await self._group.commits.commit_finished(None, deadline)
        return self._group.events_at_the_end()
