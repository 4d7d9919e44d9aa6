"""Talk to one leader: fetch from it and acknowledge to it, one request at a time.

Acknowledgements go with the next fetch if one is due, otherwise in a request of their own. A leader
without a session is asked for one first: the request that opens it takes no acknowledgements.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection, Iterable
from typing import Any, Final, Protocol

from pyk.clients.consumer.group.modern.assignment import TopicIdPartition
from pyk.clients.engine.client import Client
from pyk.clients.errors import KafkaError, KafkaTimeoutError, UnsupportedVersionError, error_for
from pyk.clients.share.acknowledgement_queue import AcknowledgementQueue
from pyk.clients.share.acknowledgements import Acknowledgements
from pyk.clients.share.commit_ticket import PendingAcknowledgements
from pyk.clients.share.share_answers import ShareAnswers
from pyk.clients.share.share_session import LOST, ShareSession
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.share_acknowledge import ShareAcknowledgeResponse
from pyk.protocol.messages.share_fetch import ShareFetchResponse
from pyk.runtime import slotted

log = logging.getLogger(__name__)

LANE: Final = "fetch"
FIRST_VERSION_WITH_RENEWAL = 2
# Without records, the leader answers a fetch after the time it may wait. If it is quicker, the next
# one is delayed, or client and leader would exchange empty messages as fast as they can.
SHORTEST_WAIT = 0.01
LONGEST_WAIT = 0.5
# Where leaders are asked in turn, others go on without one that is late with an answer by so long.
LATE_SECONDS = 1.0


@slotted.frozen
class FetchWish:
    """A fetch that is due: how long the leader may wait, and how many records it may send."""

    wait_ms: int
    max_records: int


OPENING = FetchWish(0, 0)
"""A fetch that only opens a session. It brings no records: they could be those that the member has
and is about to acknowledge, whose locks it has lost."""


class FetchOwner(Protocol):
    """What a leader reports to."""

    def wish(self, leader: ShareLeader) -> FetchWish | None:
        """Return the fetch that is due now, None if there is none."""
        ...

    def lost(self, leader: ShareLeader, error: KafkaError) -> None:
        """Learn that the session with a leader is lost or in doubt."""
        ...

    def look(self) -> None:
        """Look at what is due at all leaders: one of them is late with an answer."""
        ...


class ShareLeader:
    """One leader, and the acknowledgements that it is to get."""

    def __init__(
        self,
        client: Client,
        owner: FetchOwner,
        answers: ShareAnswers,
        session: ShareSession,
        *,
        node_id: int,
        timeout_ms: int,
    ) -> None:
        self.node_id = node_id
        self.partitions: frozenset[TopicIdPartition] = frozenset()
        """The partitions to fetch from this leader."""
        self.error: KafkaError | None = None
        """Why the last request failed, None if it did not."""
        self.has_new = False
        """Whether the last fetch brought records, each for the first time."""
        self.fetched_at = 0.0
        """When the last fetch was sent."""
        self.is_fetching = False
        self.prefetched_visit = 0
        """At which visit of the application records were fetched ahead."""
        self._client = client
        self._owner = owner
        self._answers = answers
        self._session = session
        self._timeout_ms = timeout_ms
        self._now: Callable[[], float] = client.clock.now
        self._queue = AcknowledgementQueue(node_id, self._delay)
        self._settled = asyncio.Event()
        self._settled.set()
        self._failures = self._empty = 0
        self._retry_at = 0.0
        self._late_at = float("inf")
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_closing = False

    @property
    def pending_count(self) -> int:
        """How many acknowledgements wait to be sent."""
        return self._queue.count

    async def settled(self, deadline: float) -> None:
        """Wait until the outcome of all acknowledgements is known, or for the deadline."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                await self._settled.wait()

    def holds_turn(self, now: float) -> bool:
        """Return whether others wait for this leader where only one at a time is asked.

        Nobody waits for one that fails or is late.
        """
        return bool(self.partitions) and self.error is None and now < self._late_at

    def look(self) -> None:
        """Look at what is due: something has changed."""
        self._wake.set()

    def acknowledge(self, some: Iterable[PendingAcknowledgements]) -> None:
        """Send acknowledgements soon."""
        self._queue.add(some)
        self._settled.clear()
        self._wake.set()

    # -- the loop ----------------------------------------------------------------------------------

    async def run(self) -> None:
        """Send what is due, until :meth:`close`."""
        while not self._is_closing:
            self._wake.clear()
            now = self._now()
            self._queue.refuse_overtaken()
            self._queue.expire(now, self.error)
            if not self._queue:
                self._settled.set()
            if self._retry_at > now or not await self._send_due(now):
                await self._sleep(self._next_look(now))

    def _next_look(self, now: float) -> float | None:
        """Return when something is due although nothing happens, None if there is nothing."""
        moments = [*self._queue.next_moments(now), self._retry_at]
        return min((moment for moment in moments if moment > now), default=None)

    async def _sleep(self, until: float | None) -> None:
        timer = None if until is None else asyncio.get_running_loop().call_at(until, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            if timer is not None:
                timer.cancel()

    async def _send_due(self, now: float) -> bool:
        """Send one request if there is one to send, and take its response."""
        wish = self._owner.wish(self) if self.partitions else None
        if self._queue and not self._session.is_open and not self.partitions:
            self._queue.settle_without_session()
            return True
        due = self._queue.take_due(now)
        if not due:
            return wish is not None and await self._fetch(wish, [], now)
        if not self._session.is_open:
            self._queue.put_back(due)
            return await self._fetch(OPENING, [], now)
        for one in due:
            one.sent_at = now
        if wish is not None and self._can_ride(due):
            await self._fetch(wish, due, now)
        else:
            await self._acknowledge(due)
        return True

    def _can_ride(self, due: Collection[PendingAcknowledgements]) -> bool:
        """Return whether acknowledgements may go with a fetch.

        Those that renew locks may not, and those of partitions that are not fetched would make the
        leader send their records.
        """
        return all(
            one.partition in self.partitions and not one.acknowledgements.has_renewals
            for one in due
        )

    # -- requests ----------------------------------------------------------------------------------

    async def _fetch(self, wish: FetchWish, due: list[PendingAcknowledgements], now: float) -> bool:
        self.fetched_at = now
        request = self._session.fetch(
            sorted(self.partitions), _by_partition(due), wish.wait_ms, wish.max_records
        )
        self.is_fetching = True
        try:
            response = await self._send(request, due, wait_ms=wish.wait_ms)
        finally:
            self.is_fetching = False
        if response is None:
            return True
        refused = self._top_level(response, due, ApiKey.SHARE_FETCH)
        if refused is None:
            codes = {
                (topic.topic_id, one.partition_index): (
                    one.acknowledge_error_code,
                    one.acknowledge_error_message,
                )
                for topic in response.responses
                for one in topic.partitions
            }
            self._queue.settle_by(codes, due, api_key=ApiKey.SHARE_FETCH, now=self._now())
        has_records = self._answers.fetched(self.node_id, response, now)
        self.has_new = has_records and _are_first_deliveries(response)
        self._pace(wish, now, has_records=has_records)
        return True

    def _pace(self, wish: FetchWish, sent_at: float, *, has_records: bool) -> None:
        """Delay the next fetch if this one came back empty sooner than it had to."""
        if has_records:
            self._empty = 0
            return
        self._empty += 1
        now = self._now()
        if wish.wait_ms and (now - sent_at) * 2000 < wish.wait_ms:
            delay = min(LONGEST_WAIT, SHORTEST_WAIT * 2 ** min(self._empty, 8))
            self._retry_at = max(self._retry_at, now + delay)

    async def _acknowledge(self, due: list[PendingAcknowledgements]) -> None:
        request = self._session.acknowledge(_by_partition(due))
        least = FIRST_VERSION_WITH_RENEWAL if request.is_renew_ack else None
        self._take_acknowledged(await self._send(request, due, min_version=least), due)

    def _take_acknowledged(
        self, response: ShareAcknowledgeResponse | None, due: list[PendingAcknowledgements]
    ) -> None:
        if response is None:
            return
        # First how long locks last now: those that are renewed begin again.
        self._answers.acknowledged(response)
        if self._top_level(response, due, ApiKey.SHARE_ACKNOWLEDGE) is None:
            codes = {
                (topic.topic_id, one.partition_index): (one.error_code, one.error_message)
                for topic in response.responses
                for one in topic.partitions
            }
            self._queue.settle_by(codes, due, api_key=ApiKey.SHARE_ACKNOWLEDGE, now=self._now())

    async def _send(
        self,
        request: Any,
        due: list[PendingAcknowledgements],
        *,
        min_version: int | None = None,
        timeout_ms: int | None = None,
        wait_ms: int = 0,
    ) -> Any:
        """Return the response, None if there is none; then the acknowledgements are settled."""
        self._idle.clear()
        self._late_at = self._now() + wait_ms / 1000 + LATE_SECONDS
        late = asyncio.get_running_loop().call_at(self._late_at, self._owner.look)
        try:
            return await self._client.send(
                self.node_id,
                request,
                timeout_ms=timeout_ms or self._timeout_ms,
                min_version=min_version,
                lane=LANE,
            )
        except UnsupportedVersionError as error:
            self._unsupported(due, error)
        except KafkaError as error:
            level = logging.DEBUG if self._failures else logging.INFO  # once in an outage
            log.log(level, "Share session with node %d is in doubt: %s", self.node_id, error)
            self._session.reset()
            self._client.metadata_keeper.request_update()
            if error.definite and error.retriable:
                self._queue.put_back(due)
            else:
                self._queue.settle(due, error)
            self._back_off(error)
            self._owner.lost(self, error)
        except asyncio.CancelledError:
            self._session.reset()
            self._queue.settle(due, KafkaTimeoutError("the consumer was closed meanwhile"))
            raise
        finally:
            late.cancel()
            self._late_at = float("inf")
            self._idle.set()
        return None

    def _unsupported(
        self, due: list[PendingAcknowledgements], error: UnsupportedVersionError
    ) -> None:
        """Take that the leader does not have a request: only renewal, or share groups as such."""
        renewals = [one for one in due if one.acknowledgements.has_renewals]
        self._queue.settle(renewals or due, error)
        if renewals:
            self._queue.put_back([one for one in due if one not in renewals])
        else:
            self._session.reset()
            self._back_off(error)
            self._owner.lost(self, error)

    def _back_off(self, error: KafkaError) -> None:
        self.error = error
        self._failures += 1
        self._retry_at = self._now() + self._delay(self._failures)

    def _delay(self, attempts: int) -> float:
        return self._client.retry_backoff.delay(attempts, self._client.random.random())

    # -- responses ---------------------------------------------------------------------------------

    def _top_level(
        self, response: Any, due: list[PendingAcknowledgements], api_key: ApiKey
    ) -> KafkaError | None:
        """Take the error of a whole response; return it, None if there is none."""
        code = ErrorCode(response.error_code)
        self._session.answered(code)
        if code is ErrorCode.NONE:
            self._failures, self.error = 0, None
            return None
        error = error_for(code, response.error_message, node_id=self.node_id, api_key=api_key)
        log.info("Node %d refuses a request of its share session: %s", self.node_id, error)
        self._queue.settle_refused(due, code, error)
        if code in LOST and not self._failures:
            self._failures = 1  # the first time another session is opened at once
            self.error = error
        else:
            self._back_off(error)
        self._owner.lost(self, error)
        return error

    # -- the end -----------------------------------------------------------------------------------

    async def close(self, deadline: float) -> None:
        """Send the last acknowledgements, and give back all that this leader has locked for the
        member."""
        self._is_closing = True
        self._wake.set()
        try:
            async with asyncio.timeout_at(deadline):
                await self._idle.wait()
        except TimeoutError:
            pass
        if self._session.may_exist and self._idle.is_set():
            await self._end_session(deadline)
        self._queue.settle_at_the_end(self.error)
        self._settled.set()

    async def _end_session(self, deadline: float) -> None:
        self._queue.refuse_overtaken()
        self._queue.is_ending = True
        due = self._queue.take_last()
        request = self._session.acknowledge(_by_partition(due), ends=True)
        left_ms = max(1, int((deadline - self._now()) * 1000))
        self._take_acknowledged(await self._send(request, due, timeout_ms=left_ms), due)
        self._session.reset()


def _are_first_deliveries(response: ShareFetchResponse) -> bool:
    return all(
        one.delivery_count == 1
        for topic in response.responses
        for data in topic.partitions
        for one in data.acquired_records
    )


def _by_partition(
    due: Iterable[PendingAcknowledgements],
) -> dict[TopicIdPartition, Acknowledgements]:
    """Return all acknowledgements of each partition; of those of one offset, the last one."""
    merged: dict[TopicIdPartition, Acknowledgements] = {}
    for one in due:
        merged.setdefault(one.partition, Acknowledgements()).add_all(one.acknowledgements)
    return merged
