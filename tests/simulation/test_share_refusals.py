"""Share consumers that brokers refuse raise that in each poll, and read on once they may."""

from __future__ import annotations

import pytest

from pyk.clients.errors import (
    GroupAuthorizationFailedError,
    GroupMaxSizeReachedError,
    KafkaError,
    TopicAuthorizationFailedError,
)
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from pyk.runtime.virtual_time import virtual_time
from support.share_consuming import share_cluster, share_consumer, values_of


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, GroupAuthorizationFailedError),
        (ErrorCode.GROUP_MAX_SIZE_REACHED, GroupMaxSizeReachedError),
    ],
)
@virtual_time
async def test_a_member_that_is_refused_says_so_in_each_poll_until_it_may_join(code, kind):
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a")
        heartbeat = cluster._heartbeat
        cluster.on(ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse(error_code=code))
        for _ in range(3):
            with pytest.raises(kind):
                await consumer.poll(5)
            assert isinstance(consumer.health().group_error, kind)

        cluster.on(ShareGroupHeartbeatRequest, heartbeat)

        assert await values_of(consumer, 1) == [b"a"]


@virtual_time
async def test_each_topic_that_is_forbidden_is_told():
    async with (
        share_cluster() as cluster,
        share_consumer(cluster, topics=["bills", "payments"]) as consumer,
    ):
        for name in ("bills", "payments"):
            topic = cluster.add_topic(name, [1], epoch=1)
            topic.error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        told = []
        for _ in range(2):
            with pytest.raises(TopicAuthorizationFailedError) as raised:
                await consumer.poll(5)
            told.append(raised.value.topic)

        assert sorted(told) == ["bills", "payments"]


@virtual_time
async def test_a_refusal_of_the_group_is_told_besides_that_of_a_topic():
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        refusal = ShareGroupHeartbeatResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
        cluster.on(ShareGroupHeartbeatRequest, refusal)
        cluster.topic.error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        told: list[type[KafkaError]] = []
        for _ in range(2):
            with pytest.raises(KafkaError) as raised:
                await consumer.poll(5)
            told.append(type(raised.value))

        assert set(told) == {TopicAuthorizationFailedError, GroupAuthorizationFailedError}
