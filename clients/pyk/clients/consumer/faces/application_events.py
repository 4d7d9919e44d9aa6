"""What the application hears from its consumer besides records: rebalances, and errors."""

from __future__ import annotations

from collections.abc import Callable

from pyk.clients.consumer.buffer.fetch_buffer import EVENT, FetchBuffer
from pyk.clients.consumer.group.actions import ApplicationEvent
from pyk.clients.consumer.group.consumer_group import ConsumerGroup
from pyk.clients.errors import KafkaError


class ApplicationEvents:
    """Hands events to the application one by one, when it comes for records or leaves.

    ``take_error`` returns an error of a topic that the application has not heard of yet; ``check``
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
        """Return what the application has to hear now, None if there is nothing.

        Attention is called for again unless there is nothing: the application may be kept from
        hearing the rest by an error, of its listener for instance, or by a signal.
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
        """Take note, at once, that the application has heard of an event."""
        if self._group is not None:
            self._group.finish_event(event)

    async def at_the_end(self, deadline: float) -> list[ApplicationEvent]:
        """Commit what is finished; return what the application has to hear before it leaves."""
        if self._group is None:
            return []
        await self._group.commits.commit_finished(None, deadline)
        return self._group.events_at_the_end()
