"""What a share consumer hears of its acknowledgements."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyk.clients import TopicPartition
from pyk.clients.consumer.buffer.read_buffer import EVENT
from pyk.clients.errors import InvalidRecordStateError, KafkaError, KafkaTimeoutError
from pyk.clients.share.acknowledgements import Acknowledgements
from pyk.clients.share.commit_ticket import CommitTicket, PendingAcknowledgements
from pyk.clients.share.share_buffer import ShareBuffer
from pyk.clients.share.share_commits import ShareCommits
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.acquired import acquired_records

ACCEPT, RENEW = 1, 4
REFUSED = InvalidRecordStateError("too late")


class Commits(ShareCommits):
    """Commits of a consumer whose leaders are in the test's hands."""

    def __init__(self) -> None:
        self.renewed: list[PendingAcknowledgements] = []
        self.ended: list[Any] = []
        self.sent: list[PendingAcknowledgements] = []
        self.buffer = ShareBuffer(lambda: None, lambda: None)
        acquisitions = SimpleNamespace(end=lambda *what: self.ended.append(what))
        fetcher = SimpleNamespace(
            answers=SimpleNamespace(acquisitions=acquisitions),
            renewed=self.renewed.append,
            send_outbox=self._send,
        )
        client = SimpleNamespace(clock=SimpleNamespace(now=lambda: current_clock().now()))
        super().__init__(cast(Any, client), self.buffer, cast(Any, fetcher))

    def _send(self, ticket: CommitTicket, deadline: float) -> None:
        self.sent.append(self.pending(ticket))

    def pending(
        self, ticket: CommitTicket | None = None, kind: int = ACCEPT
    ) -> PendingAcknowledgements:
        ticket = ticket or CommitTicket(self._settled)
        acquired = acquired_records(b"", [(0, 4, 1)])
        return ticket.add(acquired, Acknowledgements([(0, 4, kind)]), 60.0)


@pytest.fixture
def commits() -> Commits:
    return Commits()


def test_outcomes_are_counted_and_the_last_error_is_kept(commits: Commits):
    commits.pending().settle(REFUSED)
    assert (commits.acknowledged, commits.failed, commits.error) == (0, 5, REFUSED)

    commits.pending().settle(None)
    assert (commits.acknowledged, commits.failed, commits.error) == (5, 5, None)
    assert len(commits.ended) == 2
    assert not commits.has_outcomes


def test_nobody_hears_of_what_the_consumer_gave_back(commits: Commits, caplog: Any):
    commits.set_callback(lambda offsets, error: None)

    commits.pending(CommitTicket(commits._settled, is_silent=True)).settle(REFUSED)

    assert (commits.failed, commits.error, commits.take()) == (0, None, None)
    assert len(commits.ended) == 1
    assert caplog.text == ""


@pytest.mark.parametrize(("error", "count"), [(None, 1), (REFUSED, 0)])
def test_only_what_was_renewed_is_returned_again(
    commits: Commits, error: KafkaError | None, count: int
):
    one = commits.pending(kind=RENEW)

    one.settle(error)

    assert commits.renewed == [one] * count


def test_a_failure_that_nobody_waits_for_is_logged(commits: Commits, caplog: Any):
    commits.pending(CommitTicket(commits._settled, is_awaited=True)).settle(REFUSED)
    assert caplog.text == ""

    commits.pending().settle(REFUSED)
    assert caplog.text.count("Acknowledgements of 5 offsets of orders-0 failed") == 1

    commits.set_callback(lambda offsets, error: None)
    commits.pending().settle(REFUSED)
    assert caplog.text.count("failed") == 1


def test_the_callback_hears_of_outcomes_until_it_is_taken_away(commits: Commits):
    heard: list[Any] = []
    commits.set_callback(lambda *told: heard.append(told))
    commits.pending().settle(None)
    assert commits.buffer.attention == EVENT
    assert commits.has_outcomes

    outcome = commits.take()
    assert outcome is not None
    outcome.tell()
    assert heard == [({TopicPartition("orders", 0): (range(5),)}, None)]

    commits.pending().settle(None)
    commits.set_callback(lambda offsets, error: None)
    assert commits.has_outcomes
    commits.set_callback(None)
    assert not commits.has_outcomes
    assert commits.take() is None


@virtual_time
async def test_a_commit_returns_what_was_acknowledged():
    commits, began = Commits(), current_clock().now()
    committing = asyncio.create_task(commits.commit(began + 5))
    await asyncio.sleep(1)

    commits.sent[0].settle(None)

    assert await committing == {TopicPartition("orders", 0): (range(5),)}
    assert current_clock().now() - began == 1


@virtual_time
async def test_a_commit_waits_no_longer_than_its_deadline_and_leaves_the_outcome_in_doubt(
    caplog: Any,
):
    await asyncio.sleep(3)
    commits, began = Commits(), current_clock().now()

    with pytest.raises(KafkaTimeoutError, match="have not answered in time") as failure:
        await commits.commit(began + 5)

    assert not failure.value.definite
    assert current_clock().now() - began == pytest.approx(5.1)
    commits.sent[0].settle(REFUSED)
    assert caplog.text == ""


@virtual_time
async def test_what_a_cancelled_commit_sent_may_still_be_settled():
    commits = Commits()
    committing = asyncio.create_task(commits.commit(current_clock().now() + 5))
    await asyncio.sleep(1)
    committing.cancel()
    await asyncio.gather(committing, return_exceptions=True)

    commits.sent[0].settle(None)

    assert commits.acknowledged == 5
