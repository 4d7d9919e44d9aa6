"""Groups that change their protocol while they have members: as Apache Kafka does it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Literal

import pytest
import pytest_asyncio

from pyk.clients import AsyncConsumer, AsyncProducer
from pyk.protocol.errors import ErrorCode
from support import apache_kafka
from support.brokers import Kafka, RealKafka, ReferenceBroker, make_topic
from support.raw_groups import Coordinator, coordinator_of_group, error_of, told

E = ErrorCode


@pytest_asyncio.fixture
async def coordinator(kafka: Kafka, group: str) -> AsyncIterator[Coordinator]:
    async with coordinator_of_group(kafka, group) as found:
        yield found


@pytest.fixture(scope="module", params=["upgrade", "downgrade", "disabled"])
def policy(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(
    scope="module",
    params=["reference", pytest.param("apache", marks=pytest.mark.conformance)],
)
def broker_with_policy(
    request: pytest.FixtureRequest, policy: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kafka]:
    config = {"group.consumer.migration.policy": policy}
    if request.param == "reference":
        with ReferenceBroker(tmp_path_factory.mktemp("broker"), config) as reference:
            yield reference
        return
    if why := apache_kafka.missing():
        pytest.skip(why)
    with RealKafka(nodes=1, config=config) as real:
        yield real


@pytest_asyncio.fixture
async def coordinator_by_policy(
    broker_with_policy: Kafka, group: str
) -> AsyncIterator[Coordinator]:
    async with coordinator_of_group(broker_with_policy, group) as found:
        yield found


GONE = "Group {} is not a consumer group."


async def classic_group(coordinator: Coordinator, count: int = 2) -> tuple[int, list[str]]:
    """Bring classic members together, with the partitions 0 1 and 2 3, or all for one."""
    joined = [await coordinator.classic_member()]
    if count == 2:
        first = joined[0].member_id
        await coordinator.classic_sync(first, joined[0].generation_id, {first: [0, 1, 2, 3]})
        second = (await coordinator.classic_join()).member_id
        async with coordinator.other_connection() as other:
            joined = await asyncio.gather(
                other.classic_join(first), coordinator.classic_join(second)
            )
    leader = joined[0].leader
    members = sorted((each.member_id for each in joined), key=lambda each: each != leader)
    shares = [[0, 1], [2, 3]] if count == 2 else [[0, 1, 2, 3]]
    generation = joined[0].generation_id
    await coordinator.classic_sync(leader, generation, dict(zip(members, shares, strict=True)))
    return generation, members


def not_upgraded(coordinator: Coordinator, reason: str) -> str:
    return f"Cannot upgrade classic group {coordinator.group} to consumer group because {reason}."


def described(group: Any) -> tuple[Any, ...]:
    members = sorted((each.member_type, each.member_epoch) for each in group.members)
    return group.group_state, group.group_epoch, group.assignment_epoch, members


async def test_a_consumer_member_turns_a_classic_group_around(coordinator: Coordinator) -> None:
    generation, (a,) = await classic_group(coordinator, 1)

    joined = await coordinator.join("x")

    assert (joined.member_epoch, told(joined)) == (generation + 1, [])
    assert described(await coordinator.describe()) == (
        "Reconciling",
        generation + 1,
        generation + 1,
        [(0, generation), (1, generation + 1)],
    )
    # The classic member goes on in its generation until it hears of the rebalance.
    assert await coordinator.commit(a, generation, version=8) is E.NONE
    assert await coordinator.fetch(a, generation) is E.NONE
    assert await coordinator.classic_beat(a, generation) is E.REBALANCE_IN_PROGRESS
    assert await coordinator.classic_sync(a, generation) == (E.REBALANCE_IN_PROGRESS, [])
    # It is told what to keep, revokes, and joins once more to say so.
    first = await coordinator.classic_join(a, owned=[0, 1, 2, 3])
    assert answer(first) == (E.NONE, generation, a, "", "range", 0)
    assert await coordinator.classic_sync(a, generation) == (E.NONE, [0, 1])
    assert await coordinator.classic_beat(a, generation) is E.REBALANCE_IN_PROGRESS
    assert told(await coordinator.beat("x", joined.member_epoch)) == []
    second = await coordinator.classic_join(a, owned=[0, 1])
    assert answer(second) == (E.NONE, generation + 1, a, "", "range", 0)
    assert await coordinator.classic_sync(a, generation + 1) == (E.NONE, [0, 1])
    assert await coordinator.classic_beat(a, generation + 1) is E.NONE
    assert told(await coordinator.beat("x", joined.member_epoch)) == [2, 3]
    assert (await coordinator.describe()).group_state == "Stable"


async def test_the_last_consumer_member_that_leaves_turns_it_back(
    coordinator: Coordinator,
) -> None:
    generation, (a,) = await classic_group(coordinator, 1)
    await coordinator.join("x")
    await coordinator.classic_join(a, owned=[0, 1])
    await coordinator.classic_sync(a, generation + 1)

    assert error_of(await coordinator.beat("x", -1)) == (E.NONE, None)

    gone = await coordinator.describe()
    assert error_of(gone) == (E.GROUP_ID_NOT_FOUND, GONE.format(coordinator.group))
    # The generation of the classic group is the epoch that the group had.
    assert await coordinator.classic_beat(a, generation + 1) is E.REBALANCE_IN_PROGRESS
    assert await coordinator.commit(a, generation + 1, version=8) is E.NONE
    again = await coordinator.classic_join(a, owned=[0, 1])
    assert answer(again) == (E.NONE, generation + 2, a, a, "range", 1)
    everything = {a: [0, 1, 2, 3]}
    assert await coordinator.classic_sync(a, generation + 2, everything) == (
        E.NONE,
        [0, 1, 2, 3],
    )


def answer(joined: Any) -> tuple[Any, ...]:
    """Return what a JoinGroup was answered, with the number of members that it tells of."""
    return (
        E(joined.error_code),
        joined.generation_id,
        joined.member_id,
        joined.leader,
        joined.protocol_name,
        len(joined.members),
    )


async def test_a_classic_member_joins_a_consumer_group(coordinator: Coordinator) -> None:
    await coordinator.join("x")

    told_id = await coordinator.classic_join()
    assert (E(told_id.error_code), told_id.generation_id) == (E.MEMBER_ID_REQUIRED, -1)
    assert "raw" not in told_id.member_id
    joined = await coordinator.classic_join(told_id.member_id)

    assert answer(joined) == (E.NONE, 3, told_id.member_id, "", "range", 0)
    assert await coordinator.classic_sync(joined.member_id, 3) == (E.NONE, [])
    given_up = await coordinator.assigned("x", 2, [0, 1, 2, 3])
    kept = told(given_up)
    assert len(kept) == 2
    assert await coordinator.classic_beat(joined.member_id, 3) is E.NONE
    await coordinator.beat("x", 2, kept)
    # Now what it waits for is free.
    assert await coordinator.classic_beat(joined.member_id, 3) is E.REBALANCE_IN_PROGRESS
    again = await coordinator.classic_join(joined.member_id)
    assert again.generation_id == 3
    rest = sorted({0, 1, 2, 3} - set(kept))
    assert await coordinator.classic_sync(joined.member_id, 3) == (E.NONE, rest)


WRONG_JOINS: dict[str, tuple[dict[str, Any], E]] = {
    "another type of protocol": ({"protocol_type": "connect"}, E.INCONSISTENT_GROUP_PROTOCOL),
    "no protocol": ({"protocols": []}, E.INCONSISTENT_GROUP_PROTOCOL),
    "no protocol in common": ({"protocols": ["other"]}, E.INCONSISTENT_GROUP_PROTOCOL),
    "a short session": ({"session_timeout_ms": 1}, E.INVALID_SESSION_TIMEOUT),
    "an unknown static member": (
        {"member_id": "s", "group_instance_id": "one"},
        E.UNKNOWN_MEMBER_ID,
    ),
    "no subscription": ({"member_id": "s", "metadata": b"\x00"}, E.UNKNOWN_SERVER_ERROR),
}


async def test_wrong_joins_are_refused(coordinator: Coordinator) -> None:
    await coordinator.join("x")
    await coordinator.classic_member()

    for case, (fields, error) in WRONG_JOINS.items():
        refused = await coordinator.classic_join(**fields)
        assert E(refused.error_code) is error, case
        assert refused.generation_id == -1, case
        id_told = fields.get("member_id", "") if error is E.INVALID_SESSION_TIMEOUT else ""
        assert refused.member_id == id_told, case


async def test_wrong_requests_of_classic_members_are_refused(coordinator: Coordinator) -> None:
    await coordinator.join("x")
    member = await coordinator.classic_member()
    a, generation = member.member_id, member.generation_id

    assert await coordinator.classic_sync("n", generation) == (E.UNKNOWN_MEMBER_ID, [])
    assert await coordinator.classic_sync("x", 2) == (E.UNKNOWN_MEMBER_ID, [])
    assert await coordinator.classic_sync(a, 1) == (E.ILLEGAL_GENERATION, [])
    for wrong in ({"protocol_type": "connect"}, {"protocol_name": "sticky"}):
        refused = await coordinator.classic_sync(a, generation, **wrong)
        assert refused == (E.INCONSISTENT_GROUP_PROTOCOL, [])
    assert await coordinator.classic_beat("n", generation) is E.UNKNOWN_MEMBER_ID
    assert await coordinator.classic_beat("x", 2) is E.UNKNOWN_MEMBER_ID
    assert await coordinator.classic_beat(a, 1) is E.ILLEGAL_GENERATION
    assert await coordinator.classic_beat(a, generation, "one") is E.UNKNOWN_MEMBER_ID
    assert await coordinator.commit(a, generation + 1, version=8) is E.ILLEGAL_GENERATION
    assert await coordinator.commit(a, 1, version=8) is E.ILLEGAL_GENERATION
    assert await coordinator.fetch(a, 1) is E.ILLEGAL_GENERATION
    assert await coordinator.classic_leave("n", a) == [E.UNKNOWN_MEMBER_ID, E.NONE]
    assert [each.member_id for each in (await coordinator.describe()).members] == ["x"]


async def test_a_static_member_moves_to_the_consumer_protocol_and_back(
    coordinator: Coordinator,
) -> None:
    one = {"group_instance_id": "one"}
    first = await coordinator.classic_join(**one)
    a, generation = first.member_id, first.generation_id
    await coordinator.classic_sync(a, generation, {a: [0, 1, 2, 3]})

    # It need not leave: its classic self cannot say that it will be back.
    moved = await coordinator.join("x", instance_id="one")

    assert (moved.member_epoch, told(moved)) == (generation, [0, 1, 2, 3])
    assert await coordinator.classic_beat(a, generation, "one") is E.FENCED_INSTANCE_ID
    assert described(await coordinator.describe())[3] == [(1, generation)]
    back = await coordinator.classic_join(**one)
    assert answer(back)[:2] == (E.NONE, generation)
    assert E((await coordinator.describe()).error_code) is E.GROUP_ID_NOT_FOUND
    # Nothing has moved, so that there is no rebalance.
    assert await coordinator.classic_sync(back.member_id, generation) == (E.NONE, [0, 1, 2, 3])
    assert await coordinator.classic_beat(back.member_id, generation, "one") is E.NONE
    assert error_of(await coordinator.beat("x", generation)) == (
        E.GROUP_ID_NOT_FOUND,
        GONE.format(coordinator.group),
    )


async def test_a_static_member_that_comes_back_with_other_topics_begins_a_rebalance(
    coordinator: Coordinator,
) -> None:
    await coordinator.join("x", instance_id="one")

    back = await coordinator.classic_join(group_instance_id="one", topics=[])

    assert answer(back)[:2] == (E.NONE, 0)
    assert await coordinator.classic_sync(back.member_id, 0) == (E.ILLEGAL_GENERATION, [])
    again = await coordinator.classic_join(back.member_id, topics=[], group_instance_id="one")
    assert answer(again)[:2] == (E.NONE, 3)


async def test_a_group_of_another_protocol_is_not_upgraded(coordinator: Coordinator) -> None:
    connect = {"protocol_type": "connect"}
    await coordinator.classic_member(**connect)

    refused = await coordinator.join("x")

    reason = "the group does not use the consumer embedded protocol"
    assert error_of(refused) == (
        E.GROUP_ID_NOT_FOUND,
        not_upgraded(coordinator, reason),
    )


async def test_members_that_wait_for_a_rebalance_are_sent_back(coordinator: Coordinator) -> None:
    generation, (a, b) = await classic_group(coordinator)
    async with coordinator.other_connection() as other:
        waiting = asyncio.create_task(other.classic_join(a))
        while await coordinator.classic_beat(b, generation) is E.NONE:
            await asyncio.sleep(0.02)

        joined = await coordinator.join("x")

        refused = await waiting
    assert (E(refused.error_code), refused.member_id) == (E.REBALANCE_IN_PROGRESS, a)
    assert joined.member_epoch == generation + 1
    assert await coordinator.classic_beat(b, generation) is E.REBALANCE_IN_PROGRESS
    for member_id in (a, b):
        await coordinator.classic_join(member_id)
    states = [each.member_type for each in (await coordinator.describe()).members]
    assert sorted(states) == [0, 0, 1]


async def test_a_group_that_everybody_leaves_is_empty(coordinator: Coordinator) -> None:
    await coordinator.join("x")
    member = await coordinator.classic_member()

    assert await coordinator.classic_leave(member.member_id, "x") == [E.NONE, E.NONE]

    assert described(await coordinator.describe())[0::3] == ("Empty", [])


async def test_what_a_custom_assignor_would_lose_stops_an_upgrade(
    coordinator: Coordinator,
) -> None:
    member = await coordinator.classic_member()
    a, generation = member.member_id, member.generation_id
    await coordinator.classic_sync(a, generation, {a: [0]}, user_data=b"secret of an assignor")

    refused = await coordinator.join("x")

    reason = (
        "an unsupported custom assignor is in use. Please refer to the documentation or switch to "
        "a default assignor before re-attempting the upgrade"
    )
    assert error_of(refused) == (
        E.GROUP_ID_NOT_FOUND,
        not_upgraded(coordinator, reason),
    )
    assert await coordinator.classic_beat(a, generation) is E.NONE


async def test_an_assignment_that_cannot_be_read_stops_an_upgrade(coordinator: Coordinator) -> None:
    member = await coordinator.classic_member()
    a, generation = member.member_id, member.generation_id
    await coordinator.classic_sync(a, generation, {a: b"\x00"})

    refused = await coordinator.join("x")

    reason = "the embedded consumer protocol is malformed"
    assert error_of(refused) == (
        E.GROUP_ID_NOT_FOUND,
        not_upgraded(coordinator, reason),
    )


async def test_each_policy_allows_its_directions(
    policy: str, coordinator_by_policy: Coordinator
) -> None:
    coordinator = coordinator_by_policy
    generation, (a,) = await classic_group(coordinator, 1)
    joined = await coordinator.join("x")
    if policy in ("downgrade", "disabled"):
        reason = "online upgrade is disabled"
        assert error_of(joined) == (
            E.GROUP_ID_NOT_FOUND,
            not_upgraded(coordinator, reason),
        )
        await coordinator.classic_leave(a)
        await coordinator.join("x")
    else:
        assert joined.member_epoch == generation + 1

    classic = await coordinator.classic_member()

    if policy == "disabled":
        assert E(classic.error_code) is E.INCONSISTENT_GROUP_PROTOCOL
        return
    assert not classic.error_code
    await coordinator.beat("x", -1)
    found = await coordinator.describe()
    if policy == "downgrade":
        assert E(found.error_code) is E.GROUP_ID_NOT_FOUND
    else:
        assert {each.member_type for each in found.members} == {0}


async def test_our_consumers_move_a_group_to_the_other_protocol_and_back(
    kafka: Kafka, group: str
) -> None:
    topic = await asyncio.to_thread(make_topic, kafka, "moving", partitions=4)
    found: list[bytes | None] = []
    sent = 0

    members: list[AsyncConsumer[bytes, bytes]] = []
    leaving: set[AsyncConsumer[bytes, bytes]] = set()

    async def member(protocol: Literal["classic", "consumer"]) -> None:
        async with AsyncConsumer(
            kafka.bootstrap,
            topics=[topic],
            group_id=group,
            group_protocol=protocol,
            auto_offset_reset="earliest",
        ) as consumer:
            members.append(consumer)
            while consumer not in leaving:
                found.extend([record.value for record in await consumer.poll(timeout=0.1)])

    async with AsyncProducer(kafka.bootstrap) as producer, asyncio.TaskGroup() as tasks:
        tasks.create_task(member("classic"))
        await eventually(lambda: shares(members) == [4])
        for protocol in ("classic", "consumer", "consumer", "classic"):
            tasks.create_task(member(protocol))
            await eventually(lambda: shares(members) == [2, 2])
            for _ in range(40):
                await producer.send(topic, b"%d" % sent, partition=sent % 4)
                sent += 1
            await producer.flush()
            await eventually(lambda expected=sent: len(found) >= expected)
            leaving.add(members.pop(0))
            await eventually(lambda: shares(members) == [4])
        leaving.update(members)

    assert sorted(int(value or b"-1") for value in found) == list(range(sent))


def shares(members: list[AsyncConsumer[bytes, bytes]]) -> list[int]:
    return [len(consumer.assignment()) for consumer in members]


async def eventually(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not is_true():
            await asyncio.sleep(0.05)
