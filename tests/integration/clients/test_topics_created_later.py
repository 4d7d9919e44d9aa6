"""A topic that is created after the subscription is read soon."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pyk.clients import Consumer, Producer
from pyk.reference_broker import Cluster

# Far below metadata_max_age_ms, far above what a busy machine takes.
SOON = 25


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        yield cluster


@pytest.mark.parametrize("group_id", [None, "early"])
@pytest.mark.parametrize("is_created", [True, False], ids=["by broker", "by producer"])
def test_a_topic_that_is_created_after_the_subscription_is_read_soon(
    cluster: Cluster, group_id: str | None, is_created: bool
) -> None:
    topic = f"late-{group_id}-{is_created}"
    with Consumer(
        cluster.bootstrap,
        topics=[topic],
        group_id=group_id,
        auto_offset_reset="earliest",
        allow_auto_create_topics=is_created,
    ) as consumer:
        assert not consumer.poll(timeout=0.5)  # it is a member now

        with Producer(cluster.bootstrap) as producer:
            producer.send_and_wait(topic, b"at last")

        assert [record.value for record in consumer.poll(timeout=SOON)] == [b"at last"]
