"""Pauses for handlers keep what the application wants, in whatever order both come."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import Any

from pyk.clients import AsyncConsumer, TopicPartition
from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.processing.jobs import Jobs, Ordering, PartitionJobs
from pyk.clients.processing.pauses import Pauses
from pyk.runtime.virtual_time import virtual_time
from support.consuming import make_consumer, reference_cluster

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)


class Pausing:
    """A consumer of two partitions, and the jobs of the first one."""

    def __init__(self, consumer: AsyncConsumer[Any, Any]) -> None:
        core = consumer._core
        self.consumer = consumer
        self.buffer = core.partitions[P0].buffer
        self.jobs = Jobs(Ordering.NONE, 1)
        self.pauses = Pauses(core, self.jobs, nullcontext())
        self.partition: PartitionJobs = self.jobs.begin(self.buffer.assignment)
        core.position_calls.handled = self.pauses

    def follow(self, is_paused: bool) -> None:
        self.partition.is_paused = is_paused
        self.pauses.follow([self.partition])

    def create_again(self) -> None:
        """Do what a topic does to its partition that is created again."""
        calls = self.consumer._core.position_calls
        calls._writer.reassign(self.buffer, Assignment(P0))


@asynccontextmanager
async def pausing() -> AsyncIterator[Pausing]:
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=2)
        async with make_consumer(cluster) as consumer:
            consumer.assign([P0, P1])
            yield Pausing(consumer)


@virtual_time
async def test_a_pause_that_is_followed_twice_ends_with_the_jobs():
    async with pausing() as one:
        one.follow(True)
        one.follow(True)
        assert one.consumer.paused() == {P0}

        one.follow(False)

        assert one.consumer.paused() == set()


@virtual_time
async def test_what_the_application_paused_before_the_jobs_stays_paused():
    async with pausing() as one:
        one.consumer.pause(P0)
        one.follow(True)
        one.follow(False)

        assert one.consumer.paused() == {P0}


@virtual_time
async def test_what_the_application_pauses_while_the_jobs_change_their_mind_stays_paused():
    async with pausing() as one:
        one.partition.is_paused = True
        one.consumer.pause(P0)

        one.follow(False)

        assert one.consumer.paused() == {P0}


@virtual_time
async def test_a_pause_of_the_application_ends_with_its_resume():
    async with pausing() as one:
        one.follow(True)
        one.consumer.pause(P0)
        one.consumer.resume(P0)
        assert one.consumer.paused() == {P0}

        one.follow(False)
        one.follow(True)
        one.follow(False)

        assert one.consumer.paused() == set()


@virtual_time
async def test_the_application_pauses_others_while_a_partition_has_enough():
    async with pausing() as one:
        one.follow(True)

        one.consumer.pause(P1)
        assert one.consumer.paused() == {P0, P1}
        one.consumer.resume(P1)
        assert one.consumer.paused() == {P0}


@virtual_time
async def test_the_pauses_of_a_topic_that_was_created_again_are_those_of_the_application():
    async with pausing() as one:
        one.follow(True)
        one.create_again()
        one.pauses.forget_former()
        assert one.consumer.paused() == set()
        assert list(one.jobs) == []

        one.consumer.pause(P0)
        one.pauses.forget_former()

        assert one.consumer.paused() == {P0}


@virtual_time
async def test_the_application_resumes_a_topic_that_was_created_again_at_once():
    async with pausing() as one:
        one.follow(True)
        one.create_again()

        one.consumer.resume(P0)

        assert one.consumer.paused() == set()


@virtual_time
async def test_a_look_leaves_the_pauses_of_assigned_partitions_alone():
    async with pausing() as one:
        one.follow(True)

        one.pauses.forget_former()

        assert one.consumer.paused() == {P0}
        assert list(one.jobs) == [one.partition]
        one.pauses.end(one.partition)
        assert one.consumer.paused() == set()


@virtual_time
async def test_a_partition_that_is_gone_keeps_its_jobs_until_it_is_released():
    async with pausing() as one:
        one.follow(True)
        one.consumer.assign([P1])

        one.follow(False)
        one.pauses.forget_former()

        assert one.consumer.paused() == set()
        assert list(one.jobs) == [one.partition]


@virtual_time
async def test_a_partition_that_was_lost_and_is_back_keeps_its_jobs_until_they_are_released():
    async with pausing() as one:
        one.partition.assignment.is_lost = True
        one.create_again()

        one.pauses.forget_former()

        assert list(one.jobs) == [one.partition]
