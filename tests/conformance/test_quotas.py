"""Quotas of clients: the reference broker answers as Apache Kafka does."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from support.brokers import Kafka
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
from support.raw_client import RawClient
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
