"""Share consumers lose answers, sessions and partitions, in virtual time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.clients import AcknowledgeType, TopicPartition
from pyk.clients.errors import (
    ClosedError,
    InvalidRecordStateError,
    KafkaError,
    NotLeaderOrFollowerError,
    StateError,
    UnsupportedVersionError,
)
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from pyk.protocol.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
from pyk.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from pyk.protocol.versions import VersionRange
from pyk.runtime.virtual_time import eventually, virtual_time
from support.scripted_broker import CLOSE, SILENCE
from support.share_cluster import ACCEPT
from support.share_consuming import share_cluster, share_consumer, values_of

P0 = TopicPartition("orders", 0)
EXPLICIT = {"share_acknowledgement_mode": "explicit"}


@pytest.mark.parametrize("fault", [SILENCE, CLOSE])
@virtual_time
async def test_a_lost_fetch_is_made_up_for(fault: Any):
    async with (
        share_cluster(lock_seconds=5) as cluster,
        share_consumer(cluster, request_timeout_ms=2000) as consumer,
    ):
        cluster.produce(b"a", b"b")
        cluster.once(ShareFetchRequest, fault)

        assert await values_of(consumer, 2) == [b"a", b"b"]
        await consumer.commit()
        assert cluster.outcomes() == [ACCEPT] * 2


@virtual_time
async def test_a_lost_acknowledgement_is_an_error_that_is_not_definite():
    async with share_cluster(lock_seconds=5) as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a")
        await values_of(consumer, 1)
        cluster.once(ShareAcknowledgeRequest, CLOSE)

        with pytest.raises(Exception) as failure:  # noqa: PT011 (its type is that of the fault)
            await consumer.commit()

        assert getattr(failure.value, "definite", None) is False
        assert await values_of(consumer, 1) == [b"a"]


@pytest.mark.parametrize("end", ["close", "unsubscribe"])
@virtual_time
async def test_ending_after_a_lost_response_unlocks_what_the_leader_holds(end: str):
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a", b"b")
        await consumer.poll(5, max_records=1)
        cluster.once(ShareAcknowledgeRequest, CLOSE)
        with pytest.raises(KafkaError):
            await consumer.commit()
        assert cluster.held() == [0, 1]

        await getattr(consumer, end)()

        assert cluster.held() == []
        assert cluster.requests(ShareAcknowledgeRequest)[-1].message.share_session_epoch == -1


@virtual_time
async def test_a_session_that_the_leader_does_not_have_is_not_ended():
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        absent = ShareFetchResponse(error_code=ErrorCode.SHARE_SESSION_NOT_FOUND)
        cluster.on(ShareFetchRequest, absent)
        await consumer.poll(1)

        await consumer.close()

        assert cluster.requests(ShareAcknowledgeRequest) == []


@virtual_time
async def test_acknowledgements_survive_a_lost_session_whose_locks_hold():
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a")
        await values_of(consumer, 1)
        cluster.lose_sessions(keeps_locks=True)

        assert await consumer.commit() == {P0: (range(1),)}
        assert cluster.outcomes() == [ACCEPT]


@virtual_time
async def test_acknowledgements_of_a_lost_session_fail_with_a_typed_error():
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a")
        await values_of(consumer, 1)
        cluster.lose_sessions()

        with pytest.raises(InvalidRecordStateError):
            await consumer.commit()
        (again,) = await consumer.poll(5)
        assert again.delivery_count == 2


@virtual_time
async def test_acknowledgements_do_not_go_to_another_leader_than_that_of_the_locks():
    async with share_cluster(nodes=2) as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a")
        await values_of(consumer, 1)
        cluster.move(0, 2)

        with pytest.raises(NotLeaderOrFollowerError):
            await consumer.commit()
        (again,) = await consumer.poll(5)
        await consumer.commit()

        assert (again.value, again.delivery_count) == (b"a", 2)
        assert cluster.outcomes() == [ACCEPT]


@virtual_time
async def test_a_fenced_member_joins_again_and_tells_what_it_lost(caplog: Any):
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a")
        await values_of(consumer, 1)
        cluster.fence()
        await asyncio.sleep(5)

        with pytest.raises(InvalidRecordStateError):
            await consumer.commit()
        (again,) = await consumer.poll(5)
        assert again.delivery_count == 2
        assert "Lost 1 partition of share group g" in caplog.text


@virtual_time
async def test_a_slow_application_leaves_the_group_and_comes_back():
    async with (
        share_cluster() as cluster,
        share_consumer(cluster, max_poll_interval_ms=3000) as consumer,
    ):
        cluster.produce(b"a")
        await values_of(consumer, 1)
        await asyncio.sleep(5)
        assert not cluster.members

        cluster.produce(b"b")
        assert b"b" in await values_of(consumer, 1)
        assert cluster.members


@virtual_time
async def test_a_member_that_leaves_gives_its_partitions_back_and_may_come_again():
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a", b"b")
        await consumer.poll(5, max_records=1)
        await consumer.unsubscribe()

        assert cluster.held() == []
        with pytest.raises(StateError, match="nothing to read"):
            await consumer.poll(1)
        consumer.subscribe(["orders"])
        assert len(await values_of(consumer, 2)) == 2


@virtual_time
async def test_a_partition_that_goes_is_given_back_as_far_as_it_was_not_handed_out():
    async with share_cluster(partitions=2) as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a", b"b", partition=0)
        cluster.produce(b"c", partition=1)
        await consumer.poll(5, max_records=1)
        cluster.assigned = []
        cluster._epoch += 1

        await eventually(lambda: len(cluster.held(0)) + len(cluster.held(1)) == 1)


@virtual_time
async def test_two_members_share_the_records_of_one_partition():
    async with (
        share_cluster() as cluster,
        share_consumer(cluster, max_poll_records=1) as one,
        share_consumer(cluster, max_poll_records=1) as other,
    ):
        for number in range(40):
            cluster.produce(b"%d" % number)
        got: list[bytes] = []

        async def read(consumer: Any) -> None:
            while len(got) < 40:
                for record in await consumer.poll(0.5):
                    got.append(record.value)
                    await asyncio.sleep(0.01)

        await asyncio.gather(read(one), read(other))

        assert sorted(got) == sorted(b"%d" % number for number in range(40))
        assert min(one.stats().records, other.stats().records) > 0


@virtual_time
async def test_no_more_records_are_acquired_than_one_poll_returns():
    async with (
        share_cluster(nodes=2, partitions=2) as cluster,
        share_consumer(cluster, share_acquire_mode="record_limit") as consumer,
    ):
        cluster.produce(b"a", partition=0)
        cluster.produce(b"b", partition=1)
        await consumer.poll(5, max_records=1)

        assert len(cluster.held(0)) + len(cluster.held(1)) == 1
        requests = [one.message for one in cluster.requests(ShareFetchRequest)]
        assert {(one.share_acquire_mode, one.max_records) for one in requests} == {(1, 1)}


@virtual_time
async def test_a_broker_without_share_groups_is_one_clear_error():
    async with share_cluster() as cluster:
        del cluster.versions[ApiKey.SHARE_GROUP_HEARTBEAT]
        async with share_consumer(cluster) as consumer:
            with pytest.raises(UnsupportedVersionError, match="does not offer share groups"):
                await consumer.poll(5)


@virtual_time
async def test_a_leader_without_share_fetches_is_an_error_of_polls():
    async with share_cluster() as cluster:
        del cluster.versions[ApiKey.SHARE_FETCH]
        async with share_consumer(cluster) as consumer:
            with pytest.raises(UnsupportedVersionError):
                await consumer.poll(5)


@virtual_time
async def test_a_leader_that_learns_share_fetches_is_asked_for_all_partitions():
    async with share_cluster() as cluster:
        fetches = cluster.versions.pop(ApiKey.SHARE_FETCH)
        async with share_consumer(cluster) as consumer:
            with pytest.raises(UnsupportedVersionError):
                await consumer.poll(5)
            await cluster.kill(1)
            cluster.versions[ApiKey.SHARE_FETCH] = fetches
            await cluster.start(1)
            await eventually(lambda: bool(cluster.requests(ShareFetchRequest)), timeout=60)

            opening = cluster.requests(ShareFetchRequest)[0].message
            assert [one.partition_index for one in opening.topics[0].partitions] == [0]


@virtual_time
async def test_a_partition_without_leader_and_a_refusal_show_in_health():
    async with share_cluster(partitions=2) as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a")
        await values_of(consumer, 1)
        assert consumer.health().is_healthy
        cluster.topic.leaders[1] = -1
        consumer._core.client.metadata_keeper.request_update()
        await asyncio.sleep(2)

        assert consumer.health().problems == ("orders-1 has no known leader",)
        assert consumer.health().group_state == "stable"


@virtual_time
async def test_renewal_needs_a_broker_that_knows_it_and_loses_nothing_else():
    async with share_cluster() as cluster:
        cluster.versions[ApiKey.SHARE_ACKNOWLEDGE] = VersionRange(1, 1)
        async with share_consumer(cluster, **EXPLICIT) as consumer:
            cluster.produce(b"a")
            cluster.produce(b"b")
            renewed, accepted = await consumer.poll(5)
            consumer.acknowledge(accepted)
            consumer.commit_async()
            consumer.acknowledge(renewed, AcknowledgeType.RENEW)

            with pytest.raises(UnsupportedVersionError):
                await consumer.commit()
            await eventually(lambda: cluster.outcomes() == [None, ACCEPT])


@virtual_time
async def test_a_closed_consumer_says_so():
    async with share_cluster() as cluster:
        consumer = share_consumer(cluster)
        await consumer.start()
        await consumer.close()
        with pytest.raises(ClosedError):
            await consumer.poll(1)


@virtual_time
async def test_only_what_changed_is_said_in_heartbeats_and_fetches():
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a")
        await values_of(consumer, 1)
        await asyncio.sleep(3)
        await consumer.poll(1)

        beats = [one.message for one in cluster.requests(ShareGroupHeartbeatRequest)]
        assert [beat.subscribed_topic_names for beat in beats[:2]] == [["orders"], None]
        opening, *later = [one.message for one in cluster.requests(ShareFetchRequest)]
        assert len(opening.topics[0].partitions) == 1
        assert [one.share_session_epoch for one in later] == list(range(1, len(later) + 1))
        assert not any(
            one.topics and not one.topics[0].partitions[0].acknowledgement_batches for one in later
        )


@virtual_time
async def test_a_topic_that_does_not_exist_shows_in_health_and_is_warned_of_once(caplog: Any):
    async with (
        share_cluster() as cluster,
        share_consumer(cluster, topics=["ordres"]) as consumer,
    ):
        for _ in range(20):
            assert len(await consumer.poll(1)) == 0

        words = "topic 'ordres' does not exist: is its name right?"
        assert consumer.health().problems == (words,)
        assert [one.message for one in caplog.records if one.levelname == "WARNING"] == [words]


@virtual_time
async def test_an_outage_is_told_once_and_not_with_each_try(caplog: Any):
    caplog.set_level("INFO", "pyk.clients.share")
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        for _ in range(20):
            cluster.once(ShareFetchRequest, CLOSE)
        cluster.produce(b"a")

        assert await values_of(consumer, 1) == [b"a"]

        assert caplog.text.count("Share session with node 1 is in doubt") == 1
