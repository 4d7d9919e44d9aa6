"""Clients raise at once while ACLs deny them access, and work by themselves once they have it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

import pytest

from pyk.clients import (
    AccessControlEntry,
    AccessControlEntryFilter,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    Admin,
    AsyncConsumer,
    AsyncProducer,
    AuthorizationError,
    ClusterAuthorizationFailedError,
    Consumer,
    GroupAuthorizationFailedError,
    InvalidRequestError,
    NewTopic,
    PatternType,
    Plain,
    Producer,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
    SeveralErrors,
    TopicAuthorizationFailedError,
    TopicPartition,
    TransactionAbortableError,
    TransactionalIdAuthorizationFailedError,
)
from support import apache_kafka
from support.guarded_brokers import (
    PASSWORD,
    GuardedApacheKafka,
    GuardedReferenceBroker,
    guarded_config,
)
from support.guarded_users import ADMIN_CALLS, AT_ONCE, User, once_allowed, refusal
from support.real_time import eventually

TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
TRANSACTIONAL_ID = ResourceType.TRANSACTIONAL_ID
READ, WRITE, DESCRIBE = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE

USERS = [f"user{number}" for number in range(40)]
_free_users = itertools.cycle(USERS)


@pytest.fixture(
    scope="module",
    params=["reference", pytest.param("apache", marks=pytest.mark.conformance)],
)
def guarded(request: pytest.FixtureRequest) -> Iterator[Any]:
    config = guarded_config(USERS) | {"auto.create.topics.enable": "false"}
    if request.param == "reference":
        with GuardedReferenceBroker(config) as reference:
            yield reference
        return
    if why := apache_kafka.missing():
        pytest.skip(why)
    with GuardedApacheKafka(config) as real:
        yield real


@pytest.fixture
def admin(guarded: Any) -> Iterator[Admin]:
    with Admin(guarded.bootstrap) as client:
        yield client


@pytest.fixture
def user(guarded: Any, admin: Admin) -> User:
    """A user of its own for each test."""
    name = next(_free_users)
    options = {
        "bootstrap_servers": guarded.sasl_bootstrap,
        "security_protocol": "SASL_PLAINTEXT",
        "auth": Plain(name, PASSWORD),
    }
    return User(name, options, admin)


@pytest.fixture
def topic(admin: Admin, user: User, request: pytest.FixtureRequest) -> str:
    name = f"{request.node.originalname}-{user.name}"[-200:]
    admin.create_topics([NewTopic(name)])
    eventually(lambda: name in admin.list_topics())
    return name


# -- admin -----------------------------------------------------------------------------------------


def test_acls_are_created_described_and_deleted(admin: Admin, user: User) -> None:
    drafts = ResourcePattern(TOPIC, "drafts-", PatternType.PREFIXED)
    entry = AccessControlEntry(f"User:{user.name}", WRITE, host="198.51.100.7")
    one = AclBinding(drafts, entry)
    other = AclBinding(ResourcePattern(CLUSTER, "elsewhere"), entry)
    of_user = AccessControlEntryFilter(f"User:{user.name}")
    all_of_user = AclBindingFilter(entry=of_user)
    of_drafts_1 = AclBindingFilter(
        ResourcePatternFilter(TOPIC, "drafts-1", PatternType.MATCH), of_user
    )
    with pytest.raises(SeveralErrors) as caught:
        admin.create_acls([one, other])
    assert isinstance(caught.value.errors[other], InvalidRequestError)

    eventually(lambda: admin.describe_acls(all_of_user) == [one])
    assert admin.describe_acls(of_drafts_1) == [one]
    assert admin.delete_acls([of_drafts_1]) == {of_drafts_1: [one]}
    eventually(lambda: admin.describe_acls(all_of_user) == [])
    assert admin.delete_acls([one]) == {AclBindingFilter.of(one): []}


def test_an_admin_gets_the_error_of_what_it_may_not_do(user: User, topic: str) -> None:
    with Admin(**user.options) as client:
        for name, (error, call) in ADMIN_CALLS.items():
            refused = refusal(lambda call=call: call(client, topic))  # type: ignore[misc]
            assert isinstance(refused, error), name
        assert client.list_topics() == {}
        assert client.list_groups() == []
        assert client.list_transactions() == []


# -- producers -------------------------------------------------------------------------------------


def test_a_producer_raises_at_once_and_goes_on_after_a_grant(user: User, topic: str) -> None:
    with Producer(**user.options) as producer:
        assert "DESCRIBE" in str(refusal(lambda: producer.send_and_wait(topic, b"hidden"), topic))
        assert "DESCRIBE" in str(refusal(lambda: producer.partitions_for(topic), topic))
        user.may(DESCRIBE, TOPIC, topic)
        once_allowed(lambda: producer.partitions_for(topic))
        refused = refusal(lambda: producer.send_and_wait(topic, b"no producer id"))
        assert isinstance(refused, ClusterAuthorizationFailedError)
        user.may(WRITE, TOPIC, topic)
        assert once_allowed(lambda: producer.send_and_wait(topic, b"allowed")).offset == 0

        user.may_no_more(WRITE, TOPIC, topic)
        refusal(lambda: producer.send_and_wait(topic, b"refused"), "needs an ACL for WRITE")
        refusal(lambda: producer.send_batch(topic, [b"refused"]).result(), topic)
        user.may(WRITE, TOPIC, topic)
        once_allowed(lambda: producer.send_and_wait(topic, b"allowed again"))
        producer.send_batch(topic, [b"allowed", b"too"]).result()


def test_a_denied_topic_does_not_hold_back_others(admin: Admin, user: User, topic: str) -> None:
    secret = f"{topic}-secret"
    admin.create_topics([NewTopic(secret)])
    user.may(WRITE, TOPIC, topic)
    user.may(DESCRIBE, TOPIC, secret)
    with Producer(linger_ms=50, **user.options) as producer:
        once_allowed(lambda: producer.send_and_wait(topic, b"0"))
        once_allowed(lambda: producer.partitions_for(secret))
        deliveries = [(producer.send(topic, b"x"), producer.send(secret, b"x")) for _ in range(20)]

        for allowed, denied in deliveries:
            assert allowed.result(AT_ONCE).topic == topic
            assert isinstance(denied.exception(AT_ONCE), TopicAuthorizationFailedError)


async def test_an_async_producer_raises_at_once_and_goes_on_after_a_grant(
    user: User, topic: str
) -> None:
    async with AsyncProducer(**user.options) as producer:
        with pytest.raises(TopicAuthorizationFailedError, match=topic):
            await producer.send_and_wait(topic, b"hidden")
        user.may(WRITE, TOPIC, topic)
        with Producer(**user.options) as other:  # waits until the broker knows
            once_allowed(lambda: other.send_and_wait(topic, b"allowed"))

        assert (await producer.send_and_wait(topic, b"allowed")).offset == 1


# -- transactions ----------------------------------------------------------------------------------


def test_a_transactional_id_is_refused_until_a_grant(user: User, topic: str) -> None:
    user.may(WRITE, TOPIC, topic)
    producer = Producer[Any, Any](transactional_id="payer", **user.options)
    try:
        refused = refusal(producer.init_transactions, "transactional id 'payer'")
        assert isinstance(refused, TransactionalIdAuthorizationFailedError)
        user.may(WRITE, TRANSACTIONAL_ID, "payer")
        once_allowed(producer.init_transactions)

        with producer.transaction():
            producer.send(topic, b"paid")
    finally:
        producer.close()


def test_a_denied_topic_aborts_only_its_transaction(admin: Admin, user: User, topic: str) -> None:
    secret = f"{topic}-secret"
    admin.create_topics([NewTopic(secret)])
    user.may(WRITE, TOPIC, topic)
    user.may(WRITE, TRANSACTIONAL_ID, "payer")
    user.may(DESCRIBE, TOPIC, secret)
    producer = Producer[Any, Any](transactional_id="payer", **user.options)

    def write_to(name: str) -> None:
        with producer.transaction():
            producer.send(topic, b"both").result()
            producer.send(name, b"both").result()

    try:
        once_allowed(producer.init_transactions)
        assert isinstance(refusal(lambda: write_to(secret)), TopicAuthorizationFailedError)
        once_allowed(lambda: write_to(topic))
        user.may(WRITE, TOPIC, secret)

        once_allowed(lambda: write_to(secret))
    finally:
        producer.close()
    with Consumer(
        **(user.options | {"auth": None, "security_protocol": "PLAINTEXT"})
        | {"bootstrap_servers": admin_bootstrap(admin)},
        isolation_level="read_committed",
        auto_offset_reset="earliest",
    ) as consumer:
        consumer.assign([TopicPartition(secret, 0)])
        assert [record.value for record in consumer.poll(20)] == [b"both"]


def test_offsets_of_a_denied_group_abort_only_their_transaction(user: User, topic: str) -> None:
    user.may(AclOperation.ALL, TOPIC, topic)
    user.may(WRITE, TRANSACTIONAL_ID, "payer")
    offsets = {TopicPartition(topic, 0): 1}
    group = f"group-of-{user.name}"
    with Consumer(group_id=group, **user.options) as consumer:
        metadata = consumer.group_metadata()
    producer = Producer[Any, Any](transactional_id="payer", **user.options)

    def pay() -> None:
        with producer.transaction():
            producer.send(topic, b"paid").result()
            producer.send_offsets_to_transaction(offsets, metadata)

    try:
        once_allowed(producer.init_transactions)
        with pytest.raises(TransactionAbortableError, match=group) as caught:
            pay()
        assert isinstance(caught.value.__cause__, GroupAuthorizationFailedError)
        user.may(READ, GROUP, group)

        def is_paid() -> bool:
            try:
                pay()
            except TransactionAbortableError:
                return False
            return True

        eventually(is_paid)
    finally:
        producer.close()


def test_a_transactional_id_that_is_revoked_ends_its_producer(user: User, topic: str) -> None:
    user.may(WRITE, TOPIC, topic)
    user.may(WRITE, TRANSACTIONAL_ID, "payer")

    def new_producer() -> Producer[Any, Any]:
        return Producer[Any, Any](transactional_id="payer", **user.options)

    def pay(producer: Producer[Any, Any]) -> None:
        with producer.transaction():
            producer.send(topic, b"paid").result()

    producer = new_producer()
    try:
        once_allowed(producer.init_transactions)
        pay(producer)
        user.may_no_more(WRITE, TRANSACTIONAL_ID, "payer")
        refused = refusal(lambda: pay(producer))
        assert isinstance(refused, TransactionalIdAuthorizationFailedError)
        assert refused.fatal
    finally:
        producer.close()
    user.may(WRITE, TRANSACTIONAL_ID, "payer")
    producer = new_producer()
    try:
        once_allowed(producer.init_transactions)
        pay(producer)
    finally:
        producer.close()


# -- consumers -------------------------------------------------------------------------------------


def values_of(consumer: Consumer[Any, Any]) -> list[Any]:
    return [record.value for record in consumer.poll(0.5)]


def read_until(consumer: Consumer[Any, Any], value: bytes) -> None:
    """Poll until a record comes; refusals from before a grant may still be raised."""
    values: list[Any] = []

    def is_read() -> bool:
        try:
            values.extend(values_of(consumer))
        except AuthorizationError:
            return False
        return value in values

    eventually(is_read)


def member(user: User, topic: str, group: str) -> Consumer[Any, Any]:
    return Consumer[Any, Any](
        topics=[topic],
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        **user.options,
    )


def test_a_member_whose_group_is_denied_raises_and_goes_on_after_a_grant(
    admin: Admin, user: User, topic: str
) -> None:
    group, partition = f"group-of-{user.name}", TopicPartition(topic, 0)
    with Producer(admin_bootstrap(admin)) as writer, member(user, topic, group) as consumer:
        writer.send_and_wait(topic, b"one")
        refused = refusal(lambda: values_of(consumer))
        assert isinstance(refused, TopicAuthorizationFailedError | GroupAuthorizationFailedError)
        user.may(READ, TOPIC, topic)
        user.may(READ, GROUP, group)
        read_until(consumer, b"one")
        consumer.commit()

        user.may_no_more(READ, GROUP, group)
        refused = refusal(lambda: consumer.commit({partition: 1}))
        assert isinstance(refused, GroupAuthorizationFailedError)
        refusal(lambda: consumer.committed([partition]), f"group {group!r}")
        refusal(lambda: values_of(consumer), f"group {group!r}")
        assert not consumer.health().is_healthy
        user.may(READ, GROUP, group)
        writer.send_and_wait(topic, b"two")
        read_until(consumer, b"two")
        consumer.commit()


def test_a_member_whose_topic_is_denied_raises_and_goes_on_after_a_grant(
    admin: Admin, user: User, topic: str
) -> None:
    group, partition = f"group-of-{user.name}", TopicPartition(topic, 0)
    user.may(READ, TOPIC, topic)
    user.may(READ, GROUP, group)
    with Producer(admin_bootstrap(admin)) as writer, member(user, topic, group) as consumer:
        writer.send_and_wait(topic, b"one")
        read_until(consumer, b"one")

        user.may_no_more(READ, TOPIC, topic)
        refused = refusal(lambda: consumer.commit({partition: 1}))
        assert isinstance(refused, TopicAuthorizationFailedError)
        refusal(lambda: values_of(consumer), topic)
        user.may(READ, TOPIC, topic)
        writer.send_and_wait(topic, b"two")
        read_until(consumer, b"two")
        assert consumer.health().is_healthy


def test_an_assigned_consumer_raises_and_goes_on_after_grants(
    admin: Admin, user: User, topic: str
) -> None:
    partition = TopicPartition(topic, 0)
    with (
        Producer(admin_bootstrap(admin)) as writer,
        Consumer(auto_offset_reset="earliest", **user.options) as consumer,
    ):
        writer.send_and_wait(topic, b"one")
        consumer.assign([partition])
        refusal(lambda: values_of(consumer), "needs an ACL for DESCRIBE")
        refusal(lambda: consumer.position(partition), topic)
        refusal(lambda: consumer.end_offsets([partition]), topic)
        user.may(DESCRIBE, TOPIC, topic)
        assert once_allowed(lambda: consumer.end_offsets([partition])) == {partition: 1}
        assert once_allowed(lambda: consumer.position(partition)) == 0
        refusal(lambda: values_of(consumer), "needs an ACL for READ")

        user.may(READ, TOPIC, topic)
        read_until(consumer, b"one")


async def test_an_async_consumer_raises_and_goes_on_after_grants(
    admin: Admin, user: User, topic: str
) -> None:
    with Producer(admin_bootstrap(admin)) as writer:
        writer.send_and_wait(topic, b"one")
    async with AsyncConsumer(auto_offset_reset="earliest", **user.options) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        with pytest.raises(TopicAuthorizationFailedError, match=topic):
            await consumer.poll(AT_ONCE)
        user.may(READ, TOPIC, topic)
        with Admin(**user.options) as other:  # waits until the broker knows
            eventually(lambda: topic in other.list_topics())

        values: list[Any] = []
        give_up_at = time.monotonic() + AT_ONCE
        while not values and time.monotonic() < give_up_at:
            try:
                values = [record.value for record in await consumer.poll(1)]
            except TopicAuthorizationFailedError:
                continue  # the refusal of a request from before the grant
        assert values == [b"one"]


def test_a_pattern_finds_what_may_be_described_and_more_after_a_grant(
    admin: Admin, user: User, topic: str
) -> None:
    group, other = f"group-of-{user.name}", f"{topic}-other"
    admin.create_topics([NewTopic(other)])
    user.may(READ, GROUP, group)
    user.may(READ, TOPIC, topic)
    with (
        Producer(admin_bootstrap(admin)) as writer,
        Consumer(
            group_id=group, auto_offset_reset="earliest", metadata_max_age_ms=500, **user.options
        ) as consumer,
    ):
        writer.send_and_wait(topic, b"one")
        writer.send_and_wait(other, b"other")
        consumer.subscribe(pattern=f"{topic}.*")
        read_until(consumer, b"one")
        assert {partition.topic for partition in consumer.assignment()} == {topic}

        user.may(READ, TOPIC, other)
        read_until(consumer, b"other")


def admin_bootstrap(admin: Admin) -> str:
    """Return the address of the super user's listener."""
    (address,) = admin._core.config.bootstrap_servers
    return str(address)
