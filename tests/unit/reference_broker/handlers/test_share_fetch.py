"""ShareFetch and ShareAcknowledge: their responses, and when they wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from pyk.protocol.acls import AclOperation, ResourceType
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pyk.reference_broker import AsyncCluster
from pyk.reference_broker.awaiting import value_of
from pyk.reference_broker.broker import Broker
from pyk.reference_broker.controller.image import GROUP_RESOURCE
from pyk.reference_broker.coordinator.share.share_partition import SharePartitionKey
from pyk.reference_broker.deferred import Deferred
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.authorized_broker import authorized_broker
from support.logs import batch, transactional_batch
from support.running_brokers import TOPIC, running_broker
from support.share_groups import (
    GROUP,
    ShareMember,
    acknowledge_code,
    acquired,
    code,
    initialize,
    offsets,
    topic_id_of,
)

E = ErrorCode
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4


def fill(broker: Broker, *counts: int) -> None:
    for count in counts:
        broker.services.replicas.get(TOPIC, 0).append(batch(*[b"x"] * count))


@virtual_time
async def test_a_member_gets_records_and_the_next_one_those_after_them() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 10, 10)
        first, second = ShareMember(broker, "a"), ShareMember(broker, "b")

        got = await first.fetch(max_records=10, max_wait_ms=1000)
        assert acquired(got) == [(0, 9, 1)]
        assert offsets(got) == list(range(10))
        assert got.acquisition_lock_timeout_ms == 30_000
        assert acquired(await second.fetch(max_wait_ms=1000)) == [(10, 19, 1)]


@virtual_time
async def test_a_released_record_comes_with_new_ones_behind_those_that_others_have() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 10, 4, 4, 4)
        first, second = ShareMember(broker, "a"), ShareMember(broker, "b")
        await first.fetch(max_records=10, max_wait_ms=1000)
        await first.acknowledge((0, 0, [RELEASE]))

        got = await second.fetch(max_records=8, max_wait_ms=1000)

        assert acquired(got) == [(0, 0, 2), (10, 17, 1)]


@virtual_time
async def test_acknowledged_records_are_stored_and_never_come_again() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 10)
        member = ShareMember(broker)
        await member.fetch(max_wait_ms=1000)

        assert code(await member.acknowledge((0, 9, [ACCEPT]))) == E.NONE
        fill(broker, 5)
        assert acquired(await member.fetch()) == [(10, 14, 1)]


@virtual_time
async def test_a_fetch_carries_acknowledgements() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 4)
        member = ShareMember(broker)
        await member.fetch(max_wait_ms=1000)

        got = await member.fetch(said=[(0, 1, [ACCEPT]), (2, 3, [RELEASE, REJECT])])
        assert acknowledge_code(got) == E.NONE
        assert acquired(await member.fetch()) == [(2, 2, 2)]


@virtual_time
async def test_a_fetch_waits_for_a_record_that_is_appended() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        member = ShareMember(broker)
        waiting = asyncio.ensure_future(member.fetch(max_wait_ms=60_000))
        await asyncio.sleep(5)
        assert not waiting.done()

        fill(broker, 3)
        assert acquired(await waiting) == [(0, 2, 1)]


@virtual_time
async def test_a_fetch_waits_for_a_record_that_another_member_releases() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 3)
        first, second = ShareMember(broker, "a"), ShareMember(broker, "b")
        await first.fetch(max_wait_ms=1000)
        waiting = asyncio.ensure_future(second.fetch(max_wait_ms=60_000))
        await asyncio.sleep(1)

        await first.acknowledge((0, 2, [RELEASE]))

        assert acquired(await waiting) == [(0, 2, 2)]


@virtual_time
async def test_a_fetch_waits_for_a_lock_to_be_over() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 3)
        first, second = ShareMember(broker, "a"), ShareMember(broker, "b")
        await first.fetch(max_wait_ms=1000)
        loop = asyncio.get_running_loop()
        begun = loop.time()

        got = await second.fetch(max_wait_ms=60_000)

        assert acquired(got) == [(0, 2, 2)]
        assert 29 < loop.time() - begun < 31


@virtual_time
async def test_a_fetch_is_answered_empty_when_time_is_over() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        member = ShareMember(broker)

        first = await member.fetch(max_wait_ms=500)
        later = await member.fetch(max_wait_ms=500)

        assert (code(first), offsets(first)) == (E.NONE, [])
        assert len(first.responses) == 1
        assert later.responses == []


@virtual_time
async def test_a_session_that_ends_releases_what_its_member_has() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 3)
        first, second = ShareMember(broker, "a"), ShareMember(broker, "b")
        await first.fetch(max_wait_ms=1000)

        ended = await first.acknowledge((0, 0, [ACCEPT]), share_session_epoch=-1)

        assert code(ended) == E.NONE
        assert acquired(await second.fetch(max_wait_ms=1000)) == [(1, 2, 2)]


@virtual_time
async def test_a_fetch_that_ends_the_session_releases_what_its_member_has() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 3)
        first, second = ShareMember(broker, "a"), ShareMember(broker, "b")
        await first.fetch(max_wait_ms=1000)

        ended = await first.fetch(said=[(0, 0, [ACCEPT])], share_session_epoch=-1)

        assert code(ended) == E.NONE
        assert acquired(await second.fetch(max_wait_ms=1000)) == [(1, 2, 2)]


@virtual_time
async def test_locks_that_are_renewed_last_longer() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 3)
        first, second = ShareMember(broker, "a"), ShareMember(broker, "b")
        await first.fetch(max_wait_ms=1000)
        await asyncio.sleep(20)

        await first.acknowledge((0, 2, [RENEW]), is_renew_ack=True)
        await asyncio.sleep(20)

        assert acquired(await second.fetch()) == []
        assert code(await first.acknowledge((0, 2, [ACCEPT]))) == E.NONE


@virtual_time
async def test_a_lock_that_became_shorter_is_over_before_those_from_earlier() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 3, 3)
        first, second = ShareMember(broker, "a"), ShareMember(broker, "b")
        await first.fetch(max_records=3, max_wait_ms=1000)
        broker.image.configs[GROUP_RESOURCE, GROUP] = {"share.record.lock.duration.ms": "15000"}
        assert acquired(await first.fetch(max_records=3, max_wait_ms=1000)) == [(3, 5, 1)]

        await asyncio.sleep(16)

        assert acquired(await second.fetch()) == [(3, 5, 2)]


@virtual_time
async def test_a_renewed_lock_that_became_shorter_is_over_in_time() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 3)
        first, second = ShareMember(broker, "a"), ShareMember(broker, "b")
        await first.fetch(max_wait_ms=1000)
        broker.image.configs[GROUP_RESOURCE, GROUP] = {"share.record.lock.duration.ms": "15000"}
        await first.acknowledge((0, 2, [RENEW]), is_renew_ack=True)

        await asyncio.sleep(16)

        assert acquired(await second.fetch()) == [(0, 2, 2)]


@virtual_time
async def test_a_fetch_that_is_abandoned_while_it_acknowledges_gives_its_records_back() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 3)
        member = ShareMember(broker, "a")
        await member.fetch(max_wait_ms=1000)
        fill(broker, 3)
        waiting = member.send(topics=member.topics(0, said=[(0, 2, [ACCEPT])]))
        assert isinstance(waiting, Deferred)
        assert not waiting.is_done

        waiting.abandon()
        await asyncio.sleep(1)

        assert acquired(await ShareMember(broker, "b").fetch(max_wait_ms=1000)) == [(3, 5, 1)]


@virtual_time
async def test_an_abandoned_fetch_acquires_nothing() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        member = ShareMember(broker, "a")
        waiting = member.send(topics=member.topics(0), max_wait_ms=60_000)
        assert isinstance(waiting, Deferred)
        await asyncio.sleep(1)

        waiting.abandon()
        fill(broker, 3)

        assert acquired(await ShareMember(broker, "b").fetch(max_wait_ms=1000)) == [(0, 2, 1)]


# -- who may, and how much -------------------------------------------------------------------------

GROUP_READ = (AclOperation.READ, ResourceType.GROUP, GROUP)
TOPIC_READ = (AclOperation.READ, ResourceType.TOPIC, TOPIC)


@virtual_time
async def test_a_member_needs_to_read_the_group_and_the_topic() -> None:
    async with authorized_broker() as guarded:
        broker = guarded.broker
        await initialize(broker)
        fill(broker, 3)
        member = ShareMember(broker)
        fetch_request = member.request(topics=member.topics(0), max_wait_ms=1000)

        assert code(await guarded.ask(fetch_request)) == E.GROUP_AUTHORIZATION_FAILED
        guarded.allow(GROUP_READ)
        assert code(await guarded.ask(fetch_request)) == E.TOPIC_AUTHORIZATION_FAILED
        said = member.acknowledgement((0, 2, [ACCEPT]), share_session_epoch=1)
        assert code(await guarded.ask(said)) == E.TOPIC_AUTHORIZATION_FAILED
        guarded.disallow(GROUP_READ)
        assert code(await guarded.ask(said)) == E.GROUP_AUTHORIZATION_FAILED

        guarded.allow(GROUP_READ, TOPIC_READ)
        assert acquired(await guarded.ask(fetch_request)) == [(0, 2, 1)]
        assert code(await guarded.ask(said)) == E.NONE


@virtual_time
async def test_records_that_a_quota_holds_back_are_given_back() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 3)
        usage = Usage(throttle_ms=500)
        throttled = await ShareMember(broker, "a", usage=usage).fetch(max_wait_ms=1000)

        assert throttled.responses == []
        assert acquired(await ShareMember(broker, "b").fetch(max_wait_ms=1000)) == [(0, 2, 1)]


@virtual_time
async def test_a_quota_is_told_of_more_bytes_than_the_records_have() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 3)
        usage = Usage(throttle_ms=0)

        got = await ShareMember(broker, "a", usage=usage).fetch(max_wait_ms=1000)

        assert acquired(got) == [(0, 2, 1)]
        (told,) = usage.told
        assert told > len(batch(*[b"x"] * 3)) + 50


class Usage:
    """A quota that is used up, unless it makes nobody wait."""

    largest_fetch = None

    def __init__(self, throttle_ms: int) -> None:
        self._throttle_ms = throttle_ms
        self.told: list[int] = []

    def fetched(self, size: int) -> int:
        self.told.append(size)
        return self._throttle_ms


@pytest.mark.parametrize("reads_before", range(5))
@virtual_time
async def test_records_that_a_failing_disk_holds_back_are_given_back(reads_before: int) -> None:
    disk = FaultyFileSystem(MemoryFileSystem())
    cluster = AsyncCluster(clock=current_clock(), network=MemoryNetwork(), filesystem=disk)
    async with cluster:
        await cluster.create_topic(TOPIC)
        (broker,) = cluster._brokers.values()
        await initialize(broker)
        fill(broker, 10)
        first, second = ShareMember(broker, "a"), ShareMember(broker, "b")
        disk.on("read", f"*{TOPIC}-0/*.log").after(reads_before).fail()
        failed = await first.fetch(max_wait_ms=1000)
        disk.heal()

        assert (code(failed) == E.NONE) == bool(acquired(failed))
        ranges = acquired(failed)
        assert ranges or acquired(await second.fetch(max_wait_ms=1000)) == [(0, 9, 1)]


@pytest.mark.parametrize("reads_before", range(5))
@virtual_time
async def test_a_disk_that_fails_while_aborted_records_are_found_holds_no_records_back(
    reads_before: int,
) -> None:
    disk = FaultyFileSystem(MemoryFileSystem())
    cluster = AsyncCluster(clock=current_clock(), network=MemoryNetwork(), filesystem=disk)
    async with cluster:
        await cluster.create_topic(TOPIC)
        (broker,) = cluster._brokers.values()
        await initialize(broker)
        broker.image.configs[GROUP_RESOURCE, GROUP] = {"share.isolation.level": "read_committed"}
        partition = broker.services.replicas.get(TOPIC, 0)
        partition.append(transactional_batch(b"a", b"b"))
        partition.end_transaction(7, 0, 0, commit=False)
        fill(broker, 1)
        first, second = ShareMember(broker, "a"), ShareMember(broker, "b")
        await first.fetch(max_records=0)
        disk.on("read", f"*{TOPIC}-0/*").after(reads_before).fail()
        failed = await first.fetch(max_wait_ms=1000)
        disk.heal()

        ranges = acquired(failed) if code(failed) == E.NONE else []
        assert failed.error_code == E.NONE, "only the partition fails"
        assert ranges or acquired(await second.fetch(max_wait_ms=1000)) == [(2, 3, 1)]


# -- what happens to the partition -----------------------------------------------------------------


@virtual_time
async def test_committed_reads_pass_over_aborted_records() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        broker.image.configs[GROUP_RESOURCE, GROUP] = {"share.isolation.level": "read_committed"}
        partition = broker.services.replicas.get(TOPIC, 0)
        partition.append(transactional_batch(b"a", b"b"))
        partition.append(batch(b"c"))
        member = ShareMember(broker)
        assert acquired(await member.fetch(max_wait_ms=1000)) == []

        partition.end_transaction(7, 0, 0, commit=False)

        got = await member.fetch(max_wait_ms=1000)
        assert acquired(got) == [(2, 3, 1)]
        await member.acknowledge((2, 3, [ACCEPT, 0]))
        led = broker.services.share.find(GROUP, topic_id_of(broker), 0)
        assert led is not None
        assert led.state is not None
        assert led.state.start_offset == 4


@virtual_time
async def test_records_that_were_deleted_are_passed_over() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 5, 5)
        member = ShareMember(broker)

        broker.services.replicas.get(TOPIC, 0).delete_records(7)

        await member.fetch(max_wait_ms=1000)
        assert acquired(await member.fetch(max_wait_ms=1000)) == [(7, 9, 1)]


@virtual_time
async def test_a_partition_that_is_led_elsewhere_tells_by_whom() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 5)
        member = ShareMember(broker)
        waiting = asyncio.ensure_future(ShareMember(broker, "b").fetch(1, max_wait_ms=60_000))
        await member.fetch(max_wait_ms=1000)

        broker.services.replicas.get(TOPIC, 0).resign(9, 5)

        moved = await member.fetch(0, max_wait_ms=60_000)
        assert code(moved) == E.NOT_LEADER_OR_FOLLOWER
        leader = broker.services.image.topics[TOPIC].partitions[0]
        told = moved.responses[0].partitions[0].current_leader
        assert (told.leader_id, told.leader_epoch) == (leader.leader, leader.leader_epoch)
        assert [each.node_id for each in moved.node_endpoints] == [leader.leader]
        assert broker.services.share.find(GROUP, topic_id_of(broker), 0) is None
        assert code(await waiting) == E.UNKNOWN_TOPIC_OR_PARTITION


@virtual_time
async def test_a_topic_that_is_deleted_answers_those_that_wait() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        waiting = asyncio.ensure_future(ShareMember(broker).fetch(max_wait_ms=60_000))
        await asyncio.sleep(1)

        state = DeleteTopicState(name=TOPIC)
        await value_of(broker.services.controller.send(DeleteTopicsRequest(topics=[state])))

        assert code(await asyncio.wait_for(waiting, 10)) == E.UNKNOWN_TOPIC_OR_PARTITION
        assert broker.services.share._partitions == {}


@virtual_time
async def test_what_cannot_be_stored_is_not_acknowledged() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 3)
        member = ShareMember(broker)
        await member.fetch(max_wait_ms=1000)
        key = SharePartitionKey(GROUP, topic_id_of(broker), 0)

        # Someone has given the group other offsets meanwhile.
        await value_of(broker.services.share.persister.initialize(key, 2, 1))

        refused = await member.acknowledge((0, 2, [ACCEPT]))
        assert code(refused) == E.NOT_LEADER_OR_FOLLOWER
        assert acquired(await member.fetch(max_wait_ms=1000)) == [(1, 2, 1)]


@virtual_time
async def test_a_group_whose_connection_is_lost_is_forgotten() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 3)
        connection = Connection()
        await ShareMember(broker, connection=connection).fetch(max_wait_ms=1000)

        connection.lose()
        await asyncio.sleep(1)

        assert broker.services.share._partitions == {}
        assert len(broker.services.share.sessions) == 0
        assert acquired(await ShareMember(broker, "b").fetch(max_wait_ms=1000)) == [(0, 2, 2)]


class Connection:
    """A connection that may be lost."""

    connection_id = 5

    def __init__(self) -> None:
        self._listeners: list[Callable[[], object]] = []

    def when_lost(self, listener: Callable[[], object]) -> None:
        self._listeners.append(listener)

    def lose(self) -> None:
        for listener in self._listeners:
            listener()
