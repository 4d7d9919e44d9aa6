"""Fetch from all leaders of the assigned partitions, and bring acknowledgements to them.

When to fetch: while the application waits and nothing is buffered, from every leader, which may
wait for records. An application that comes back soon gets the next records ahead, by a fetch that
does not wait. An application that takes its time does not: the locks of records that lie in the
buffer run out, and each time that happens counts as a delivery.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable

from pyk.clients.config import ShareConsumerConfig
from pyk.clients.config.fetch_waits import fetch_timeout_ms
from pyk.clients.consumer.group.modern.assignment import Owned, TopicIdPartition
from pyk.clients.engine.client import Client
from pyk.clients.errors import KafkaError, ShareSessionNotFoundError
from pyk.clients.share.acknowledge_type import AcknowledgeType
from pyk.clients.share.acknowledgements import EXPIRED, GAP, RENEW, Acknowledgements
from pyk.clients.share.acquired_records import AcquiredRecords
from pyk.clients.share.commit_ticket import (
    CommitTicket,
    Outcome,
    PendingAcknowledgements,
)
from pyk.clients.share.share_answers import ShareAnswers
from pyk.clients.share.share_buffer import ShareBuffer
from pyk.clients.share.share_leader import FetchWish, ShareLeader
from pyk.clients.share.share_session import FetchTerms, ShareSession
from pyk.clients.topic_partition import TopicPartition
from pyk.clients.wording import counted

log = logging.getLogger(__name__)

# Records are fetched ahead for an application that came back within this time, and a fetch that
# waits is followed by another one if the application asked, or asks, within it.
QUICK_SECONDS = 1.0


class ShareFetcher:
    """The leaders of the assigned partitions, and what is to be asked of each."""

    def __init__(
        self, client: Client, config: ShareConsumerConfig, buffer: ShareBuffer, member_id: str
    ) -> None:
        self.assigned: Owned = frozenset()
        self.leaders: dict[int, ShareLeader] = {}
        self.on_outcome: Callable[[CommitTicket, PendingAcknowledgements, Outcome], object]
        self.returns_renewed = config.is_explicit
        """Whether records whose lock was renewed are handed out again."""
        self.awaited: CommitTicket | None = None
        """The ticket of the commit that the application waits for."""
        self.is_paused = False
        """Whether nothing is fetched for now."""
        self.most_records = config.max_poll_records
        """How many records one fetch asks for at most."""
        self.longest_wait_ms = config.fetch_max_wait_ms
        """How long a leader may wait for records."""
        self._client = client
        self._config = config
        self._buffer = buffer
        self._member_id = member_id
        self._terms = FetchTerms(
            min_bytes=config.fetch_min_bytes,
            max_bytes=config.fetch_max_bytes,
            max_records=config.max_poll_records,
            limits_records=config.limits_records,
        )
        self._now = client.clock.now
        self._visits = 0
        self._visited_at = self._asked_at = float("-inf")
        self._is_quick = False
        self.answers = ShareAnswers(client, config, buffer, self.give_back, self.look)

    # -- what the consumer tells -------------------------------------------------------------------

    def assign(self, owned: Owned) -> None:
        """Fetch these partitions and no others; give back what is buffered of others."""
        self.assigned = owned
        self.answers.assign(owned)
        self._buffer.partitions.clear()
        self._buffer.partitions.update({one.topic_partition: one for one in owned})
        self.give_back(self._buffer.remove(lambda acquired: acquired.partition not in owned))
        self.follow_leaders()

    def give_back(self, unwanted: Iterable[AcquiredRecords]) -> None:
        """Release what will not be handed out, so that other members get it."""
        ticket = CommitTicket(self.on_outcome, is_silent=True)
        for acquired in unwanted:
            acknowledgements = Acknowledgements()
            for first, last in acquired.give_up():
                acknowledgements.add(first, last, int(AcknowledgeType.RELEASE))
            if acknowledgements:
                self._to_leader(ticket.add(acquired, acknowledgements, self._deadline()))

    def follow_leaders(self) -> None:
        """Give each leader the partitions that it leads, by the present metadata."""
        image = self._client.metadata
        by_leader: dict[int, set[TopicIdPartition]] = {}
        for one in self.assigned:
            leader = image.leader(one.topic_partition)
            if leader is None:
                self._client.metadata_keeper.request_update()
            else:
                by_leader.setdefault(leader, set()).add(one)
        for node_id in by_leader.keys() - self.leaders.keys():
            self._add_leader(node_id)
        for node_id, leader_ in self.leaders.items():
            wanted = frozenset(by_leader.get(node_id, ()))
            if wanted != leader_.partitions:
                leader_.partitions = wanted
                leader_.look()

    def _add_leader(self, node_id: int) -> None:
        assert self._config.group_id is not None
        session = ShareSession(self._config.group_id, self._member_id, self._terms)
        timeout_ms = fetch_timeout_ms(self.longest_wait_ms, self._config.request_timeout_ms)
        leader = ShareLeader(
            self._client, self, self.answers, session, node_id=node_id, timeout_ms=timeout_ms
        )
        self.leaders[node_id] = leader
        self._client.supervisor.spawn(f"fetch from node {node_id}", leader.run())

    def visit(self) -> None:
        """Take note that the application was here: send what it has acknowledged, and fetch."""
        now = self._now()
        if self._buffer.wanted:
            self._asked_at = now
        else:
            self._visits += 1
            self._is_quick = now - self._visited_at < QUICK_SECONDS
            self._visited_at = now
        self.send_outbox(self.awaited or CommitTicket(self.on_outcome), self._deadline())
        for leader in self.leaders.values():
            leader.look()

    def look(self) -> None:
        """Look at what is due at all leaders."""
        for leader in self.leaders.values():
            leader.look()

    def _deadline(self) -> float:
        return self._now() + self._config.default_api_timeout_ms / 1000

    # -- acknowledgements --------------------------------------------------------------------------

    def send_outbox(self, ticket: CommitTicket, deadline: float) -> None:
        """Send all that the application has acknowledged."""
        outbox = self._buffer.outbox
        # Renewals by themselves: a broker may refuse them, and take the others.
        gathered: dict[tuple[AcquiredRecords, bool], Acknowledgements] = {}
        expired = Counter[TopicPartition]()
        while outbox:
            acquired, first, last, kind = outbox.popleft()
            if kind == EXPIRED:
                self.answers.acquisitions.end(acquired, [(first, last, kind)])
                expired[acquired.topic_partition] += last - first + 1
                continue
            some = gathered.setdefault((acquired, kind == RENEW), Acknowledgements())
            some.add(first, last, kind)
        sent = [
            ticket.add(acquired, acknowledgements, deadline)
            for (acquired, _), acknowledgements in gathered.items()
        ]
        for pending in sent:
            self._to_leader(pending)
        for partition, count in expired.items():
            log.warning(
                "The locks of %s of %s were over before the application asked for them, which "
                "counts as a delivery of each: handle records sooner, or acquire fewer with "
                'share_acquire_mode="record_limit"',
                counted(count, "record"),
                partition,
            )

    def send(self, ticket: CommitTicket, acquired: AcquiredRecords, some: Acknowledgements) -> None:
        """Send acknowledgements that do not come from the application."""
        self._to_leader(ticket.add(acquired, some, self._deadline()))

    def _to_leader(self, pending: PendingAcknowledgements) -> None:
        """Give acknowledgements to the leader that has the locks.

        If another node leads the partition now, it refuses them, and the locks are gone.
        """
        node_id = pending.acquired.node_id
        leader = self.leaders.get(node_id)
        if leader is not None:
            leader.acknowledge((pending,))
        else:
            pending.settle(
                ShareSessionNotFoundError(
                    f"the share session with node {node_id} was ended, and all records that were "
                    "not acknowledged given back: they are delivered again",
                    node_id=node_id,
                )
            )

    def renewed(self, pending: PendingAcknowledgements) -> None:
        """Hand out again what was renewed."""
        seconds = (self.answers.lock_timeout_ms or 0) / 1000
        until = pending.sent_at + seconds
        for first, last, _ in pending.acknowledgements.of_kind(RENEW):
            if self.returns_renewed:
                self._buffer.hand_out_again(pending.acquired, first, last, until)
        self._buffer.tell_if_waiting()

    # -- what leaders ask and tell -----------------------------------------------------------------

    def wish(self, leader: ShareLeader) -> FetchWish | None:
        """Return the fetch that is due at a leader now, None if there is none."""
        buffer, config, now = self._buffer, self._config, self._now()
        if buffer.queue or self.is_paused:
            return None
        if buffer.wanted and (buffer.is_waiting or now - self._asked_at < QUICK_SECONDS):
            if not config.limits_records:
                return FetchWish(self.longest_wait_ms, self.most_records)
            if self._has_turn(leader):
                count = sum(one.holds_turn(now) for one in self.leaders.values())
                wanted = min(buffer.wanted, self.most_records)
                return FetchWish(self.longest_wait_ms // max(1, count), wanted)
            return None
        may_prefetch = self._is_quick and not config.limits_records and not buffer.wanted
        if may_prefetch and leader.has_new and leader.prefetched_visit < self._visits:
            leader.prefetched_visit = self._visits
            return FetchWish(0, self.most_records)
        return None

    def _has_turn(self, leader: ShareLeader) -> bool:
        """Return whether a leader is the next one where only one at a time is asked."""
        now = self._now()
        in_turn = [one for one in self.leaders.values() if one.holds_turn(now)]
        if any(one.is_fetching for one in in_turn):
            return False
        return all(one.fetched_at >= leader.fetched_at for one in in_turn)

    def lost(self, leader: ShareLeader, error: KafkaError) -> None:
        """Drop what is buffered of a leader whose session is lost: its locks may be over.

        What the leader still holds is released, as soon as there is another session.
        """
        if not error.retriable:
            self.answers.tell(leader.node_id, error)
        unwanted = self._buffer.remove(lambda acquired: acquired.node_id == leader.node_id)
        if unwanted:
            log.info("Dropped records that node %d may not hold any more", leader.node_id)
        self.give_back(unwanted)
        self.look()

    async def settled(self, deadline: float) -> None:
        """Wait until the outcome of all acknowledgements is known, or for the deadline."""
        for leader in list(self.leaders.values()):
            await leader.settled(deadline)

    async def close(self, deadline: float) -> None:
        """Send the last acknowledgements and end all sessions, which gives back the rest."""
        for acquired in self._buffer.remove(lambda _: True):
            given_back = [(first, last, GAP) for first, last in acquired.give_up()]
            self.answers.acquisitions.end(acquired, given_back)
        self.send_outbox(CommitTicket(self.on_outcome), deadline)
        self.assigned = frozenset()
        self.answers.assign(self.assigned)
        self._buffer.partitions.clear()
        closing, self.leaders = self.leaders, {}  # what is assigned meanwhile gets others
        spawn = self._client.supervisor.spawn
        ends = [
            spawn(f"end share session with node {leader.node_id}", leader.close(deadline))
            for leader in closing.values()
        ]
        for end in ends:
            await end
