"""A broker that advertises an unreachable address is named in logs, errors and health."""

from __future__ import annotations

import logging

import pytest

from pyk.clients.errors import KafkaTimeoutError
from pyk.runtime.virtual_time import virtual_time
from support.consuming import fetching, make_consumer
from support.producing_cluster import make_producer, producing

WRONG = "kafka.internal:9092"


@pytest.mark.parametrize("idempotent", [True, False])
def test_a_producer_names_the_address_and_the_option(idempotent, caplog):
    @virtual_time
    async def run():
        async with producing() as (cluster, _):
            cluster.nodes[1] = "kafka.internal"
            options = {"delivery_timeout_ms": 10_000, "request_timeout_ms": 1_000, "linger_ms": 0}
            async with make_producer(
                cluster,
                bootstrap_servers="broker1:9092",
                enable_idempotence=idempotent,
                **options,
            ) as producer:
                with pytest.raises(KafkaTimeoutError) as caught:
                    await producer.send_and_wait("orders", b"one")

            text = str(caught.value)
            assert WRONG in text
            assert "connection refused" in text
            assert "advertised.listeners" in text
            assert "topic 'orders'" in text or "orders-0" in text

    with caplog.at_level(logging.WARNING, "pyk"):
        run()
    told = [record for record in caplog.records if WRONG in record.getMessage()]
    assert len(told) == 1
    assert "advertised.listeners" in told[0].getMessage()


@pytest.mark.parametrize("group_id", [None, "waiters"])
@virtual_time
async def test_the_health_of_a_consumer_names_the_address_and_the_option(group_id):
    async with fetching() as (cluster, _):
        cluster.nodes[1] = "kafka.internal"
        async with make_consumer(cluster, topics=["orders"], group_id=group_id) as consumer:
            await consumer.poll(timeout=2)

            health = consumer.health()

            assert not health.is_healthy
            problems = "; ".join(health.problems)
            assert WRONG in problems
            assert "advertised.listeners" in problems


@virtual_time
async def test_a_node_that_is_back_is_no_problem_any_more():
    async with fetching(nodes=2, leaders=(1, 2)) as (cluster, consumer):
        await cluster.kill(2)
        await consumer.poll(timeout=3)
        assert any("broker2:9092" in problem for problem in consumer.health().problems)

        await cluster.start(2)
        await consumer.poll(timeout=3)

        assert consumer.health().is_healthy
