"""A consumer that cannot join its group shows that in health and log, and raises in poll."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from pyk.clients import AsyncConsumer
from pyk.clients.errors import KafkaError
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.consuming import make_consumer, produce, read, reference_cluster

REFUSALS = pytest.mark.parametrize(
    ("api", "code"),
    [
        ("FindCoordinator", "COORDINATOR_NOT_AVAILABLE"),
        ("FindCoordinator", "COORDINATOR_LOAD_IN_PROGRESS"),
        ("JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS"),
        ("JoinGroup", "NOT_COORDINATOR"),
        ("JoinGroup", "UNKNOWN_MEMBER_ID"),
        ("SyncGroup", "REBALANCE_IN_PROGRESS"),
    ],
)


async def errors_within(
    consumer: AsyncConsumer[Any, Any], seconds: float
) -> list[tuple[float, KafkaError]]:
    """Poll for a time and return the errors, and after how many seconds they came."""
    errors: list[tuple[float, KafkaError]] = []
    began = current_clock().now()
    while current_clock().now() < began + seconds:
        try:
            await consumer.poll(0.5)
        except KafkaError as error:
            errors.append((current_clock().now() - began, error))
    return errors


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.getMessage()
        for record in caplog.records
        if "Cannot join group" in record.getMessage() and record.levelno == logging.WARNING
    ]


@REFUSALS
@virtual_time
async def test_a_group_that_cannot_be_joined_is_a_problem_then_a_warning_then_an_error(
    api, code, caplog
):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders")
        await produce(cluster, "orders", 1)
        async with make_consumer(cluster, topics=["orders"], group_id="g") as consumer:
            with cluster.faults.on(api).error(code):
                assert await errors_within(consumer, 20) == []
                assert any(code in problem for problem in consumer.health().problems)
                assert len(warnings(caplog)) == 1

                errors = await errors_within(consumer, 130)

                assert len(errors) == 4
                assert 5 < errors[0][0] < 20
                assert all(code in str(error) for _, error in errors)
                assert len(warnings(caplog)) == 3
            assert await read(consumer, 1, timeout=10) == [b"0"]
            assert consumer.health().is_healthy


@virtual_time
async def test_a_group_that_is_joined_after_a_moment_is_no_problem(caplog):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders")
        await produce(cluster, "orders", 1)
        with cluster.faults.on("JoinGroup").times(5).error("COORDINATOR_LOAD_IN_PROGRESS"):
            async with make_consumer(cluster, topics=["orders"], group_id="g") as consumer:
                assert await read(consumer, 1, timeout=10) == [b"0"]
                assert consumer.health().is_healthy
        assert warnings(caplog) == []


@virtual_time
async def test_heartbeats_that_fail_are_a_problem_but_records_go_on(caplog):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders")
        async with make_consumer(cluster, topics=["orders"], group_id="g") as consumer:
            await consumer.poll(5)
            with cluster.faults.on("Heartbeat").error("COORDINATOR_LOAD_IN_PROGRESS"):
                assert await errors_within(consumer, 40) == []
                assert not consumer.health().is_healthy
                await produce(cluster, "orders", 1)
                assert await read(consumer, 1) == [b"0"]
            assert await errors_within(consumer, 5) == []
            assert consumer.health().is_healthy
