"""The commits of a member, as requests to its coordinator."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pyk.clients.config import ConsumerConfig
from pyk.clients.consumer.buffer.fetch_buffer import FetchBuffer
from pyk.clients.consumer.buffer.fetch_writer import FetchWriter
from pyk.clients.consumer.commits.offsets_argument import OffsetsToCommit
from pyk.clients.consumer.group.group_commits import GroupCommits
from pyk.clients.consumer.positions.assigned_partitions import AssignedPartitions
from pyk.clients.consumer.positions.positions import Positions
from pyk.clients.engine.backoff import Backoff
from pyk.clients.errors import CommitFailedError
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.engine_parts import running
from support.idle_membership import IdleMembership
from support.scripted_broker import ScriptedCluster

A0 = TopicPartition("a", 0)


class Member:
    """The commits of a member that is at offset 5 of the one partition that it owns."""

    def __init__(self, cluster: ScriptedCluster, commits: GroupCommits, parts: Any) -> None:
        self.commits = commits
        self.committed: list[tuple[float, int]] = []
        """When offsets were committed, and which."""
        self.error_code = ErrorCode.NONE
        self._partitions, self._positions = parts
        (self.partition,) = self._partitions.assign([A0], 0.0, has_group=True)
        self.go_to(5)
        cluster.on(OffsetCommitRequest, self._commit)

    def go_to(self, offset: int) -> None:
        self._positions.seek(self.partition, offset, -1)

    def deadline(self) -> float:
        return current_clock().now() + 5

    def _commit(self, request: OffsetCommitRequest) -> OffsetCommitResponse:
        (topic,) = request.topics
        (asked,) = topic.partitions
        if self.error_code is ErrorCode.NONE:
            self.committed.append((current_clock().now(), asked.committed_offset))
        result = OffsetCommitResponsePartition(error_code=self.error_code)
        return OffsetCommitResponse(
            topics=[OffsetCommitResponseTopic(name=topic.name, partitions=[result])]
        )


@asynccontextmanager
async def member(**options: Any) -> AsyncIterator[Member]:
    async with running() as (cluster, client):
        buffer = FetchBuffer(lambda: None, lambda: None, lambda fetch: fetch())
        writer = FetchWriter(buffer)
        positions = Positions(writer, "none", Backoff(0.1, 1.0), lambda: 0.5)
        partitions = AssignedPartitions(writer, positions)
        config = ConsumerConfig.from_kwargs("broker1:9092", group_id="g", **options)
        commits = GroupCommits(client, config, partitions, buffer, IdleMembership())
        yield Member(cluster, commits, (partitions, positions))


@virtual_time
async def test_everything_is_committed_once_the_application_knows_of_a_loss() -> None:
    async with member() as one:
        one.commits.losses.lose({A0: 5})

        with pytest.raises(CommitFailedError):
            await one.commits.commit_all(one.deadline())
        one.commits.losses.heard()
        await one.commits.commit_all(one.deadline())

        assert [offset for _, offset in one.committed] == [5]


@virtual_time
async def test_a_membership_that_ends_takes_its_losses_along() -> None:
    async with member() as one:
        one.commits.losses.lose({A0: 5})

        one.commits.leave()
        await one.commits.commit_all(one.deadline())

        assert [offset for _, offset in one.committed] == [5]


@virtual_time
async def test_an_offset_of_a_lost_partition_is_refused_until_the_membership_ends() -> None:
    async with member() as one:
        named = OffsetsToCommit({A0: OffsetAndMetadata(7)})
        one.commits.hear([A0])
        one.partition.buffer.assignment.is_lost = True

        with pytest.raises(CommitFailedError):
            await one.commits.commit(named, one.deadline())
        one.commits.leave()
        await one.commits.commit(named, one.deadline())

        assert [offset for _, offset in one.committed] == [7]


@virtual_time
async def test_a_commit_under_a_stale_epoch_waits_for_the_heartbeat_with_the_newer_one() -> None:
    async with member() as one:
        one.error_code = ErrorCode.STALE_MEMBER_EPOCH
        committing = asyncio.create_task(one.commits.commit_all(one.deadline()))
        await asyncio.sleep(1)
        assert not committing.done()

        one.error_code = ErrorCode.NONE
        await committing

        assert [offset for _, offset in one.committed] == [5]


@virtual_time
async def test_a_commit_under_a_stale_epoch_fails_once_the_partition_is_lost() -> None:
    async with member() as one:
        one.error_code = ErrorCode.STALE_MEMBER_EPOCH
        committing = asyncio.create_task(one.commits.commit_all(one.deadline()))
        await asyncio.sleep(1)

        one.partition.buffer.assignment.is_lost = True

        with pytest.raises(CommitFailedError):
            await committing


@virtual_time
async def test_what_is_finished_is_committed_at_each_interval_if_there_is_news() -> None:
    async with member(auto_commit_interval_ms=1000) as one:
        begun = current_clock().now()
        running_commits = asyncio.create_task(one.commits.run())
        await asyncio.sleep(2.5)
        one.go_to(9)
        await asyncio.sleep(2)
        running_commits.cancel()

        assert one.committed == [
            (pytest.approx(begun + 1), 5),
            (pytest.approx(begun + 3), 9),
        ]


@virtual_time
async def test_an_interval_of_zero_does_not_flood_the_coordinator() -> None:
    async with member(auto_commit_interval_ms=0) as one:
        running_commits = asyncio.create_task(one.commits.run())
        for offset in range(100):
            one.go_to(offset)
            await asyncio.sleep(0.01)
        running_commits.cancel()

        assert 15 <= len(one.committed) <= 20


@virtual_time
async def test_nothing_is_committed_by_itself_unless_that_is_on() -> None:
    async with member(enable_auto_commit=False) as one:
        await one.commits.commit_finished(None)
        one.commits.commit_before_dropping([A0])
        await asyncio.sleep(5)

        assert one.committed == []


@virtual_time
async def test_an_auto_commit_that_fails_is_logged_and_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with member() as one:
        one.error_code = ErrorCode.GROUP_AUTHORIZATION_FAILED
        await one.commits.commit_finished(None)
        assert "Auto-commit in group g failed" in caplog.text

        one.error_code = ErrorCode.NONE
        await one.commits.commit_finished(None)

        assert [offset for _, offset in one.committed] == [5]


@virtual_time
async def test_partitions_are_committed_in_the_background_before_they_are_dropped() -> None:
    async with member() as one:
        one.commits.commit_before_dropping([A0])
        assert one.committed == []
        await asyncio.sleep(1)

        assert [offset for _, offset in one.committed] == [5]


@virtual_time
async def test_what_is_committed_is_no_news() -> None:
    async with member() as one:
        await one.commits.commit_all(one.deadline())
        await one.commits.commit_finished(None)
        one.commits.commit_before_dropping([A0])
        await asyncio.sleep(1)

        assert [offset for _, offset in one.committed] == [5]
