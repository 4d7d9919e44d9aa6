"""Formats in which members of a classic consumer group talk; the coordinator only carries them."""

from __future__ import annotations

from pyk.protocol.schema import Message, Struct, array, binary, data, int32, string, struct


@struct
class TopicPartition(Struct):
    """Partitions of one topic."""

    topic: str = string()
    partitions: list[int] = array(int32)


@data(versions="0-3")
class ConsumerProtocolSubscription(Message):
    """The metadata that a member joins with, which the leader's assignor reads."""

    topics: list[str] = array(string)
    user_data: bytes | None = binary(nullable="0+", default=None)
    """What the assignor wants to remember, in a format of its own."""
    owned_partitions: list[TopicPartition] = array(TopicPartition, versions="1+", ignorable=True)
    """What a cooperative member still holds."""
    generation_id: int = int32(versions="2+", default=-1, ignorable=True)
    """Generation in which it got them; a claim from an older one is void."""
    rack_id: str | None = string(versions="3+", nullable="3+", default=None, ignorable=True)


@data(versions="0-3")
class ConsumerProtocolAssignment(Message):
    """The assignment of one member, computed by the leader."""

    assigned_partitions: list[TopicPartition] = array(TopicPartition)
    user_data: bytes | None = binary(nullable="0+", default=None)


@struct
class TopicAssignment(Struct):
    """Partitions of one topic that the member had."""

    topic: str = string()
    partitions: list[int] = array(int32)


@data(versions="0-1")
class StickyAssignorUserData(Message):
    """The partitions that a member of an eager ``sticky`` group had before, and may keep."""

    previous_assignment: list[TopicAssignment] = array(TopicAssignment)
    generation: int = int32(versions="1+", default=-1)
    """Generation of that assignment; -1 from members that did not tell."""


@data(versions="0")
class CooperativeStickyAssignorUserData(Message):
    """The generation in which a member of a ``cooperative-sticky`` group owned its partitions."""

    generation: int = int32()
