"""What ACLs let members and administrators of streams groups do, as in Apache Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import attrs
import pytest
import pytest_asyncio

from pyk.clients import (
    AccessControlEntry,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    Admin,
    NewTopic,
    ResourcePattern,
    ResourceType,
)
from pyk.protocol.errors import ErrorCode
from support import apache_kafka
from support.broker_requests import coordinator_of
from support.guarded_brokers import (
    PASSWORD,
    GuardedApacheKafka,
    GuardedReferenceBroker,
    guarded_config,
)
from support.raw_client import RawClient
from support.raw_sasl import log_in_by_plain
from support.raw_streams_groups import StreamsCoordinator, named, owning, statuses
from support.real_time import eventually

E = ErrorCode
TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
USERS = [f"user{number}" for number in range(10)]
CONFIG = guarded_config(USERS) | {
    "auto.create.topics.enable": "false",
    "group.streams.initial.rebalance.delay.ms": "0",
}
_free_users = iter(USERS)


@pytest.fixture(
    scope="module",
    params=["reference", pytest.param("apache", marks=pytest.mark.conformance)],
)
def guarded(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "reference":
        with GuardedReferenceBroker(CONFIG) as reference:
            yield reference
        return
    if why := apache_kafka.missing():
        pytest.skip(why)
    with GuardedApacheKafka(CONFIG) as real:
        yield real


@attrs.frozen
class Guarded:
    """A streams group of a user who may do nothing yet, with a topic; it has no store."""

    user: str
    admin: Admin
    group: StreamsCoordinator
    """Asked by the user."""

    async def allow(self, operation: AclOperation, kind: ResourceType, name: str) -> None:
        """Let the user do something, and wait until that holds."""
        entry = AccessControlEntry(f"User:{self.user}", operation)
        binding = AclBinding(ResourcePattern(kind, name), entry)

        def allow() -> None:
            self.admin.create_acls([binding])
            eventually(lambda: binding in self.admin.describe_acls())

        await asyncio.to_thread(allow)

    async def allow_membership(self) -> None:
        await self.allow(AclOperation.READ, GROUP, self.group.group)
        for name in (self.group.topic, self.group.store):
            await self.allow(AclOperation.DESCRIBE, TOPIC, name)


@pytest_asyncio.fixture
async def mine(guarded: Any) -> AsyncIterator[Guarded]:
    user = next(_free_users)
    topic = f"text-of-{user}"

    def prepare() -> Admin:
        admin = Admin(guarded.bootstrap)
        admin.create_topics([NewTopic(topic, 2)])
        eventually(lambda: topic in admin.list_topics())
        return admin

    admin = await asyncio.to_thread(prepare)
    async with RawClient(guarded.bootstrap) as trusted:
        await coordinator_of(trusted, user)
    async with RawClient(guarded.sasl_bootstrap) as client:
        await log_in_by_plain(client, user, PASSWORD)
        yield Guarded(user, admin, StreamsCoordinator(client, user, topic, f"store-of-{user}"))
    await asyncio.to_thread(admin.close)


async def test_a_member_may_read_its_group_and_describe_its_topics(mine: Guarded) -> None:
    async def refusal() -> tuple[E, str | None]:
        answer = await mine.group.join("a")
        return E(answer.error_code), answer.error_message

    assert await refusal() == (E.GROUP_AUTHORIZATION_FAILED, None)
    await mine.allow(AclOperation.READ, GROUP, mine.group.group)
    assert await refusal() == (E.TOPIC_AUTHORIZATION_FAILED, None)
    await mine.allow(AclOperation.DESCRIBE, TOPIC, mine.group.topic)
    assert await refusal() == (E.TOPIC_AUTHORIZATION_FAILED, None)
    await mine.allow(AclOperation.DESCRIBE, TOPIC, mine.group.store)
    assert await refusal() == (E.NONE, None)


async def test_internal_topics_are_created_for_a_member_that_may_create_them(
    mine: Guarded,
) -> None:
    await mine.allow_membership()
    await mine.group.join("a")

    refused = f"Internal topics are missing: {mine.group.store}; Unauthorized to CREATE on topics "
    ((_, detail),) = statuses(await mine.group.beat("a", 2, **owning({})))
    assert detail == f"{refused}{mine.group.store}."

    await mine.allow(AclOperation.CREATE, TOPIC, mine.group.store)
    async with asyncio.timeout(20):
        while statuses(answer := await mine.group.beat("a", 2, **owning({}))):
            await asyncio.sleep(0.05)
    assert named(answer.active_tasks) == {"0": [0, 1]}


async def test_a_group_is_described_to_those_who_may_describe_it_and_its_topics(
    mine: Guarded,
) -> None:
    async def refusal() -> tuple[E, str | None]:
        described = await mine.group.describe(include_authorized_operations=True)
        return E(described.error_code), described.error_message

    await mine.allow_membership()
    await mine.group.join("a")
    described = await mine.group.describe(include_authorized_operations=True)
    assert len(described.members) == 1
    assert described.authorized_operations == 1 << AclOperation.READ | 1 << AclOperation.DESCRIBE

    hidden = AclBinding(
        ResourcePattern(TOPIC, mine.group.store),
        AccessControlEntry(f"User:{mine.user}", AclOperation.DESCRIBE),
    )
    await asyncio.to_thread(mine.admin.delete_acls, [AclBindingFilter.of(hidden)])
    assert await refusal() == (
        E.TOPIC_AUTHORIZATION_FAILED,
        "The described group uses topics that the client is not authorized to describe.",
    )
    described = await mine.group.describe()
    assert (described.members, described.topology) == ([], None)

    other = await mine.group.describe("of-others")
    assert (other.error_code, other.error_message) == (E.GROUP_AUTHORIZATION_FAILED, None)
