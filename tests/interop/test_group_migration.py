"""Members of confluent-kafka, of both protocols, and of pyk in one live group."""

from __future__ import annotations

import time
from typing import Any

import pytest

from pyk.clients import Admin, Consumer, NewTopic, Producer

confluent_kafka = pytest.importorskip("confluent_kafka")

pytestmark = pytest.mark.conformance

ORDERS_OF_MEMBERS = {
    "upgrade": ["confluent classic", "confluent consumer", "pyk consumer"],
    "downgrade": ["confluent consumer", "pyk classic", "confluent classic"],
}


class Foreign:
    """A member of confluent-kafka behind the calls that the test makes."""

    def __init__(self, bootstrap: str, group: str, topic: str, protocol: str) -> None:
        options: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
        if protocol == "classic":
            options["partition.assignment.strategy"] = "cooperative-sticky"
        self._consumer = confluent_kafka.Consumer(options)
        self._consumer.subscribe([topic])

    def poll(self) -> list[bytes]:
        messages = self._consumer.consume(100, 0.1)
        if messages:
            self._consumer.commit(asynchronous=False)
        return [message.value() for message in messages if not message.error()]

    def assigned(self) -> set[int]:
        return {each.partition for each in self._consumer.assignment()}

    def close(self) -> None:
        self._consumer.close()


class Own:
    """A member of pyk behind the same calls."""

    def __init__(self, bootstrap: str, group: str, topic: str, protocol: Any) -> None:
        options: dict[str, Any] = {"group_protocol": protocol, "auto_offset_reset": "earliest"}
        if protocol == "classic":
            options["partition_assignment_strategy"] = "cooperative-sticky"
        self._consumer = Consumer(bootstrap, topics=[topic], group_id=group, **options)

    def poll(self) -> list[bytes]:
        records = self._consumer.poll(timeout=0.1)
        if records:
            self._consumer.commit(records)
        return [record.value for record in records if record.value is not None]

    def assigned(self) -> set[int]:
        return {each.partition for each in self._consumer.assignment()}

    def close(self) -> None:
        self._consumer.close()


@pytest.mark.parametrize("direction", ORDERS_OF_MEMBERS)
def test_a_group_changes_its_protocol_and_reads_everything(bootstrap: str, direction: str) -> None:
    topic = group = f"moving-{direction}"
    with Admin(bootstrap) as admin:
        admin.create_topics([NewTopic(topic, partitions=4)])
    found: list[bytes] = []
    member: Any = None
    sent = 0
    with Producer(bootstrap) as producer:
        for each in ORDERS_OF_MEMBERS[direction]:
            made_by, protocol = each.split()
            kind = Own if made_by == "pyk" else Foreign
            before, member = member, kind(bootstrap, group, topic, protocol)
            if before is not None:
                found += until(lambda b=before, m=member: both_have_some(b, m), before, member)
                before.close()
            for _ in range(100):
                producer.send(topic, b"%d" % sent, partition=sent % 4)
                sent += 1
            producer.flush()
            found += until(lambda m=member: m.assigned() == {0, 1, 2, 3}, member)
    deadline = time.monotonic() + 30
    while len(set(found)) < sent and time.monotonic() < deadline:
        found += member.poll()
    member.close()

    assert sorted(map(int, found)) == list(range(sent))


def both_have_some(*members: Any) -> bool:
    shares = [member.assigned() for member in members]
    return all(shares) and set.union(*shares) == {0, 1, 2, 3}


def until(is_true: Any, *members: Any) -> list[bytes]:
    """Let members read until something is true; return what they have read."""
    found: list[bytes] = []
    deadline = time.monotonic() + 30
    while not is_true():
        assert time.monotonic() < deadline, [member.assigned() for member in members]
        for member in members:
            found += member.poll()
    return found
