from __future__ import annotations

import pytest

from pyk.clients.consumer.group.classic.consumer_protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from pyk.clients.consumer.group.classic.subscription import Subscription
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ProtocolError

A0, A2, B1 = TopicPartition("a", 0), TopicPartition("a", 2), TopicPartition("b", 1)


def test_a_subscription_comes_back_as_it_was() -> None:
    subscription = Subscription(
        member_id="m",
        topics=frozenset({"a", "b"}),
        owned_partitions=(A0, A2, B1),
        generation_id=7,
        group_instance_id="i",
        rack="east",
        user_data=b"\x01",
    )

    decoded = decode_subscription(
        encode_subscription(subscription), member_id="m", group_instance_id="i"
    )

    assert decoded == subscription


def test_an_assignment_comes_back_as_it_was() -> None:
    assert decode_assignment(encode_assignment([A0, A2, B1])) == {A0, A2, B1}


def test_no_bytes_are_an_assignment_of_nothing() -> None:
    assert decode_assignment(b"") == frozenset()


def test_an_old_subscription_owns_nothing_and_has_no_generation() -> None:
    old = bytes.fromhex("0000 00000001 0001 61 ffffffff")

    decoded = decode_subscription(old, member_id="m", group_instance_id=None)

    assert decoded == Subscription(member_id="m", topics=frozenset("a"))


def test_a_version_from_the_future_is_read_as_the_highest_known_one() -> None:
    data = bytearray(encode_subscription(Subscription(member_id="m", topics=frozenset("a"))))
    data[:2] = (12).to_bytes(2, "big")

    decoded = decode_subscription(bytes(data) + b"new", member_id="m", group_instance_id=None)

    assert decoded.topics == {"a"}


@pytest.mark.parametrize("data", [b"", b"\x00", b"\xff\xff", b"\x00\x01\x7f\xff\xff\xff"])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_subscription(data, member_id="m", group_instance_id=None)
