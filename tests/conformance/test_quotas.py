"""Quotas of clients: the reference broker answers as Apache Kafka does."""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pyk.clients import (
    AsyncAdmin,
    AsyncConsumer,
    AsyncProducer,
    ClientQuotaAlteration,
    ClientQuotaEntity,
    ClientQuotaFilter,
    ClientQuotaFilterComponent,
    TopicPartition,
)
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from support import apache_kafka
from support.broker_requests import create_topic, fetch, produce
from support.brokers import Kafka, ReferenceBroker, make_topic_of_node_0
from support.quotas import (
    ANY,
    DEFAULT,
    EXACT,
    Names,
    alteration,
    change,
    described,
    limit,
    question,
)
from support.raw_client import RawClient, batch
from support.real_time import IN_TIME

_numbers = itertools.count()
VERSIONS = [0, 1]


@pytest.fixture
async def client(kafka: Kafka) -> AsyncIterator[RawClient]:
    async with RawClient(kafka.bootstrap) as client:
        yield client


@pytest.fixture
def user() -> str:
    return f"user-{next(_numbers)}"


async def describes(
    client: RawClient, request: DescribeClientQuotasRequest, *expected: object
) -> None:
    """Wait until the broker has taken over what the controller decided."""

    async with asyncio.timeout(IN_TIME):
        while described(await client.ask(request)) != list(expected):
            pass


@pytest.mark.parametrize("version", VERSIONS)
async def test_limits_are_set_described_and_lifted(
    client: RawClient, user: str, version: int
) -> None:
    names: Names = {"client-id": None, "user": user}
    asked = question(("user", EXACT, user))
    limits = {"producer_byte_rate": 1e6, "request_percentage": 0.25}

    response = await client.ask(limit(names, **limits), version)
    await describes(client, asked, (names, limits))
    await client.ask(limit(names, **dict.fromkeys(limits)), version)
    await describes(client, asked)

    (entry,) = response.entries
    assert (entry.error_code, entry.error_message) == (0, None)


REFUSED: list[tuple[Names, tuple[tuple[str, float | None], ...], str]] = [
    ({}, (), "Invalid empty client quota entity"),
    ({"group": "g"}, (), "Unhandled client quota entity type: group"),
    ({"user": ""}, (), "Empty user not supported"),
    ({"client-id": ""}, (), "Empty client-id not supported"),
    (
        {"ip": "127.0.0.1", "user": "alice"},
        (),
        "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
    ),
    ({"ip": "not an address"}, (), "not an address is not a valid IP or resolvable host."),
    ({"ip": None}, (("producer_byte_rate", 1),), "Invalid configuration key producer_byte_rate"),
    ({"user": "u"}, (("speed", 1),), "Invalid configuration key speed"),
    (
        {"user": "u"},
        (("connection_creation_rate", 1),),
        "Invalid configuration key connection_creation_rate",
    ),
    (
        {"user": "u"},
        (("producer_byte_rate", 0),),
        "Quota producer_byte_rate must be greater than 0",
    ),
    (
        {"user": "u"},
        (("request_percentage", -1),),
        "Quota request_percentage must be greater than 0",
    ),
    (
        {"user": "u"},
        (("consumer_byte_rate", 0.5),),
        "consumer_byte_rate cannot be a fractional value.",
    ),
    (
        {"user": "u"},
        (("consumer_byte_rate", 1e30),),
        "Proposed value for consumer_byte_rate is too large for a LONG.",
    ),
    (
        {"ip": None},
        (("connection_creation_rate", 1e10),),
        "Proposed value for connection_creation_rate is too large for an INT.",
    ),
    (
        {"user": "u", "client-id": None},
        (("producer_byte_rate", 1), ("producer_byte_rate", 2)),
        "Ignoring duplicate entity ClientQuotaEntity(entries={client-id=null, user=u})",
    ),
]


@pytest.mark.parametrize(("names", "ops", "message"), REFUSED)
async def test_invalid_quotas_are_refused(
    client: RawClient, names: Names, ops: tuple[tuple[str, float | None], ...], message: str
) -> None:
    (entry,) = (await client.ask(alteration(change(names, *ops)))).entries

    assert (entry.error_code, entry.error_message) == (ErrorCode.INVALID_REQUEST, message)
    assert {each.entity_type: each.entity_name for each in entry.entity} == names


async def test_the_first_change_of_an_entity_named_twice_counts(
    client: RawClient, user: str
) -> None:
    names: Names = {"user": user}
    first, second = (change(names, ("producer_byte_rate", each)) for each in (1, 2))

    (entry,) = (await client.ask(alteration(first, second))).entries
    await describes(client, question(("user", EXACT, user)), (names, {"producer_byte_rate": 1.0}))
    await client.ask(limit(names, producer_byte_rate=None))

    assert entry.error_message == (
        f"Ignoring duplicate entity ClientQuotaEntity(entries={{user={user}}})"
    )


INVALID, UNSUPPORTED = ErrorCode.INVALID_REQUEST, ErrorCode.UNSUPPORTED_VERSION
NO_FILTERS: list[tuple[tuple[tuple[str, int, str | None], ...], ErrorCode, str]] = [
    ((("", ANY, None),), INVALID, "Invalid empty entity type."),
    (
        (("user", ANY, None), ("user", EXACT, "u")),
        INVALID,
        "Entity type user cannot appear more than once in the filter.",
    ),
    ((("group", ANY, None),), UNSUPPORTED, "Unsupported entity type group"),
    (
        (("user", EXACT, None),),
        INVALID,
        "Request specified MATCH_TYPE_EXACT, but set match string to null.",
    ),
    (
        (("user", DEFAULT, "u"),),
        INVALID,
        "Request specified MATCH_TYPE_DEFAULT, but also specified a match string.",
    ),
    (
        (("user", ANY, "u"),),
        INVALID,
        "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.",
    ),
    ((("user", 9, None),), INVALID, "Unknown match type 9"),
    (
        (("ip", ANY, None), ("user", ANY, None)),
        INVALID,
        (
            "Invalid entity filter component combination. IP filter component should not be used "
            "with user or clientId filter component."
        ),
    ),
]


@pytest.mark.parametrize(("components", "code", "message"), NO_FILTERS)
async def test_what_is_no_filter_is_refused(
    client: RawClient,
    components: tuple[tuple[str, int, str | None], ...],
    code: ErrorCode,
    message: str,
) -> None:
    response = await client.ask(question(*components))

    assert (response.error_code, response.error_message) == (code, message)
    assert response.entries is None


async def test_filters_find_entities_by_type_and_name(client: RawClient, user: str) -> None:
    of_user: Names = {"user": user}
    of_pair: Names = {"client-id": f"app-of-{user}", "user": user}
    rate = {"consumer_byte_rate": 5.0}
    for names in (of_user, of_pair):
        await client.ask(limit(names, **rate))

    exactly = ("user", EXACT, user)
    await describes(client, question(exactly), (of_pair, rate), (of_user, rate))
    await describes(client, question(exactly, strict=True), (of_user, rate))
    await describes(client, question(exactly, ("client-id", ANY, None)), (of_pair, rate))
    await describes(client, question(exactly, ("client-id", DEFAULT, None)))
    await describes(client, question(("client-id", EXACT, f"app-of-{user}")), (of_pair, rate))

    for names in (of_user, of_pair):
        await client.ask(limit(names, consumer_byte_rate=None))


RATE = 200_000
"""Bytes per second."""
RECORD = bytes(1000)
TOLERANCE = 0.15
# What ten windows may hold comes at once, and then little more until they are over. So a rate is
# measured from the middle of the first burst to the middle of the third.


def rate_is_kept(kilobytes: int, seconds: float) -> bool:
    """Return whether the rate is near the limit; a busy machine may be slower by half."""
    part_of_limit = kilobytes * 1000 / seconds / RATE
    return 0.4 <= part_of_limit <= 1 + TOLERANCE


async def limit_rate(kafka: Kafka, client_id: str, name: str, rate: float = RATE) -> None:
    async with AsyncAdmin(kafka.bootstrap) as admin:
        entity = ClientQuotaEntity({"client-id": client_id})
        await admin.alter_client_quotas(ClientQuotaAlteration(entity, {name: rate}))
        while not await admin.describe_client_quotas(
            ClientQuotaFilter.contains(
                [ClientQuotaFilterComponent.of_entity("client-id", client_id)]
            )
        ):
            pass


async def test_a_producer_keeps_to_its_rate(kafka: Kafka, topic: str) -> None:
    await limit_rate(kafka, topic, "producer_byte_rate")
    async with AsyncProducer(kafka.bootstrap, client_id=topic, batch_size=16_000) as producer:

        async def produce_kilobytes(kilobytes: int) -> float:
            began = time.monotonic()
            for _ in range(kilobytes):
                await producer.send(topic, RECORD, partition=0)
            await producer.flush()
            return time.monotonic() - began

        await produce_kilobytes(500)
        seconds = await produce_kilobytes(4_500)

    assert rate_is_kept(4_500, seconds)


async def test_a_consumer_keeps_to_its_rate(kafka: Kafka, topic: str) -> None:
    await limit_rate(kafka, f"{topic}-reader", "consumer_byte_rate")
    async with AsyncProducer(kafka.bootstrap, batch_size=16_000) as producer:
        for _ in range(5_500):
            await producer.send(topic, RECORD, partition=0)

    async with AsyncConsumer(
        kafka.bootstrap,
        client_id=f"{topic}-reader",
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=32_000,
    ) as consumer:
        consumer.assign([TopicPartition(topic, 0)])

        async def consume(kilobytes: int) -> float:
            began, left = time.monotonic(), kilobytes
            while left > 0:
                left -= len(await consumer.poll(timeout=IN_TIME))
            return time.monotonic() - began

        await consume(500)
        seconds = await consume(4_500)

    assert rate_is_kept(4_500, seconds)


async def test_throttle_times_follow_from_what_ten_windows_hold(kafka: Kafka) -> None:
    topic = await asyncio.to_thread(make_topic_of_node_0, kafka, "throttled")
    await limit_rate(kafka, f"{topic}-writer", "producer_byte_rate", 20_000)
    await limit_rate(kafka, f"{topic}-reader", "consumer_byte_rate", 20_000)
    values = batch(bytes(400_000))

    async with RawClient(kafka.bootstrap, client_id=f"{topic}-writer") as writer:
        produced = await writer.ask(produce(values, topic=topic), 12)
    async with RawClient(kafka.bootstrap, client_id=f"{topic}-reader") as reader:
        fetched = await reader.ask(fetch(0, topic=topic), 12)

    # Twice what may be used at once: what it takes to use as much again.
    assert produced.responses[0].partition_responses[0].error_code == 0
    assert 10_000 <= produced.throttle_time_ms < 10_100
    # A throttled fetch has no records, and no session.
    assert 10_000 <= fetched.throttle_time_ms < 10_100
    assert (fetched.responses, fetched.session_id) == ([], 0)


async def test_changes_above_a_rate_are_refused_and_tried_again(kafka: Kafka, topic: str) -> None:
    async with RawClient(kafka.bootstrap, client_id=f"{topic}-maker") as client:
        await limit_rate_of_changes(kafka, f"{topic}-maker")
        names = (f"{topic}-{number}" for number in itertools.count())
        # The controller may take over the quota a moment later than the broker.
        while not (made := await client.ask(create_topic(next(names), 7), 6)).topics[0].error_code:
            pass
        older = await client.ask(create_topic(next(names), 7), 5)

    assert made.topics[0].error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert made.topics[0].error_message is None
    assert 0 < made.throttle_time_ms <= 3_000
    assert older.topics[0].error_code == 0
    assert older.throttle_time_ms > 0


async def limit_rate_of_changes(kafka: Kafka, client_id: str) -> None:
    async with AsyncAdmin(kafka.bootstrap) as admin:
        entity = ClientQuotaEntity({"client-id": client_id})
        # Eleven windows of half a partition a second: five and a half may be made at once.
        limits = {"controller_mutation_rate": 0.5}
        await admin.alter_client_quotas(ClientQuotaAlteration(entity, limits))


@pytest.mark.conformance
@pytest.mark.parametrize(
    ("kind", "limits"),
    [
        ("users", "producer_byte_rate=1000,request_percentage=5.5"),
        ("clients", "consumer_byte_rate=1000"),
        ("ips", "connection_creation_rate=7"),
    ],
)
def test_kafkas_own_tool_sets_and_shows_quotas(tmp_path: Path, kind: str, limits: str) -> None:
    if why := apache_kafka.missing():
        pytest.skip(why)
    name = "192.0.2.7" if kind == "ips" else "reports"
    with ReferenceBroker(tmp_path) as broker:

        def configs(*arguments: str) -> str:
            entity = ("--entity-type", kind, "--entity-name", name)
            done = apache_kafka.tool(
                "kafka.admin.ConfigCommand",
                "--bootstrap-server",
                broker.bootstrap,
                *entity,
                *arguments,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        configs("--alter", "--add-config", limits)
        shown = configs("--describe")
        configs("--alter", "--delete-config", ",".join(re.findall(r"(\w+)=", limits)))
        left = configs("--describe")

    assert all(limit in shown for limit in limits.split(","))
    assert "=" not in left
