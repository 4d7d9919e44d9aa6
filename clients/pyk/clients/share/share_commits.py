"""The acknowledgements of a share consumer: commits, and what the application hears of them."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from pyk.clients.arguments import check_commit_callback
from pyk.clients.consumer.buffer.read_buffer import EVENT
from pyk.clients.engine.client import Client
from pyk.clients.errors import KafkaError, KafkaTimeoutError
from pyk.clients.share.commit_ticket import (
    AcknowledgementCallback,
    CommitTicket,
    Outcome,
    PendingAcknowledgements,
)
from pyk.clients.share.share_buffer import ShareBuffer
from pyk.clients.share.share_fetcher import ShareFetcher
from pyk.clients.topic_partition import TopicPartition
from pyk.runtime import slotted

log = logging.getLogger(__name__)


@slotted.frozen
class AcknowledgementToTell:
    """An outcome that the application's callback has not heard of."""

    callback: AcknowledgementCallback
    outcome: Outcome

    def tell(self) -> object:
        """Call the callback, and return what it returned."""
        offsets = {self.outcome.topic_partition: self.outcome.offsets}
        return self.callback(offsets, self.outcome.error)


class ShareCommits:
    """Sends acknowledgements, and keeps their outcomes for the application."""

    def __init__(self, client: Client, buffer: ShareBuffer, fetcher: ShareFetcher) -> None:
        self.callback: AcknowledgementCallback | None = None
        self.acknowledged = self.failed = 0
        """How many offsets were acknowledged, and how many could not be."""
        self.error: KafkaError | None = None
        """Why the last acknowledgements failed."""
        self._client = client
        self._buffer = buffer
        self._fetcher = fetcher
        self._to_tell: deque[AcknowledgementToTell] = deque()
        fetcher.on_outcome = self._settled

    def _settled(
        self, ticket: CommitTicket, pending: PendingAcknowledgements, outcome: Outcome
    ) -> None:
        self._fetcher.answers.acquisitions.end(pending.acquired, pending.acknowledgements)
        if outcome.error is None and pending.acknowledgements.has_renewals:
            self._fetcher.renewed(pending)
        if ticket.is_silent:
            return
        self.error = outcome.error
        if outcome.error is None:
            self.acknowledged += outcome.count
        else:
            self.failed += outcome.count
            if self.callback is None and not ticket.is_awaited:
                log.warning(
                    "Acknowledgements of %d offsets of %s failed; what they were to accept may be "
                    "delivered again: %s",
                    outcome.count,
                    outcome.topic_partition,
                    outcome.error,
                )
        if self.callback is not None:
            self._to_tell.append(AcknowledgementToTell(self.callback, outcome))
            self._buffer.call_attention(EVENT)

    def take(self) -> AcknowledgementToTell | None:
        """Return the next outcome to tell the application, None if there is none."""
        return self._to_tell.popleft() if self._to_tell else None

    @property
    def has_outcomes(self) -> bool:
        """Return whether the application has to hear of an outcome."""
        return bool(self._to_tell)

    def set_callback(self, callback: AcknowledgementCallback | None) -> None:
        """Tell this callback of outcomes from now on."""
        if callback is not None:
            check_commit_callback(callback)
        self.callback = callback
        if callback is None:
            self._to_tell.clear()

    def begin(self) -> CommitTicket:
        """Begin a commit: whatever visits send from now on, until :meth:`end`, is of its ticket.

        The loop may make the visit of the last poll late, and then that visit takes what was
        acknowledged since.
        """
        ticket = self._fetcher.awaited = CommitTicket(self._settled, is_awaited=True)
        return ticket

    def end(self) -> None:
        """Take note that no caller waits for a commit any more."""
        self._fetcher.awaited = None

    async def commit(
        self, deadline: float, ticket: CommitTicket | None = None
    ) -> dict[TopicPartition, tuple[range, ...]]:
        """Send what is acknowledged, and return the outcome, with that of all of the ticket."""
        ticket = ticket or CommitTicket(self._settled, is_awaited=True)
        self._fetcher.send_outbox(ticket, deadline)
        if not ticket.is_settled:
            settled = asyncio.get_running_loop().create_future()
            ticket.on_settled = _setter(settled)
            left = max(0.0, deadline - self._client.clock.now())
            # Acknowledgements that were not sent yet expire at the deadline, with a reason.
            await asyncio.wait({settled}, timeout=left + 0.1)
        if not ticket.is_settled:
            raise KafkaTimeoutError(
                "the leaders have not answered in time whether they took the acknowledgements",
                definite=False,
            )
        return ticket.result()


def _setter(settled: asyncio.Future[None]) -> Callable[[], None]:
    def settle() -> None:
        if not settled.done():
            settled.set_result(None)

    return settle
