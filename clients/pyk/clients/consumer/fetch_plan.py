"""What to fetch from which node, and what an error in the answer asks for. Pure."""

from __future__ import annotations

from collections import defaultdict
from enum import Enum

import attrs

from pyk.clients.consumer.fetch_session import WantedPartition
from pyk.clients.consumer.positions import Place, PlaceState, Positions
from pyk.clients.engine.metadata import MetadataImage
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.schema import ZERO_UUID

SETTLING = frozenset({PlaceState.COMMITTED, PlaceState.RESET, PlaceState.VALIDATE})


class Verdict(Enum):
    """What an error of one partition in a fetch answer asks for."""

    REFRESH = "ask for metadata, then fetch again"
    WAIT = "fetch again later"
    OUT_OF_RANGE = "begin elsewhere"
    FAIL = "tell the application, and fetch again later"


# A broker that cannot read its own log, or that hides the topic, does not get better unnoticed.
TOLD_AT_ONCE = frozenset({ErrorCode.CORRUPT_MESSAGE, ErrorCode.TOPIC_AUTHORIZATION_FAILED})
NEEDS_METADATA = frozenset({ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.INCONSISTENT_TOPIC_ID})
PASSES = frozenset({ErrorCode.UNKNOWN_SERVER_ERROR})


def verdict(code: ErrorCode) -> Verdict:
    """Return what to do about an error of one partition."""
    if code is ErrorCode.OFFSET_OUT_OF_RANGE:
        return Verdict.OUT_OF_RANGE
    if code in TOLD_AT_ONCE:
        return Verdict.FAIL
    if code.invalidates_metadata or code in NEEDS_METADATA:
        return Verdict.REFRESH
    if code.retriable or code in PASSES:
        return Verdict.WAIT
    return Verdict.FAIL


@attrs.define
class NodePlan:
    """What to fetch from one node."""

    wanted: dict[TopicPartition, WantedPartition] = attrs.Factory(dict)
    versions: dict[TopicPartition, int] = attrs.Factory(dict)
    """The version of each partition's buffer when it was asked for."""
    is_hurried: bool = False
    """Whether partitions are left out that may soon be asked for, once the application has read on
    or their place is known."""


def plan(
    positions: Positions, image: MetadataImage, max_partition_bytes: int, now: float
) -> dict[int, NodePlan]:
    """Return what to fetch from each node now, which may be nothing while the node is full.

    Partitions without a leader are left out.
    """
    plans: dict[int, NodePlan] = defaultdict(NodePlan)
    is_settling = any(place.state in SETTLING for place in positions)
    for place in positions:
        if place.state is not PlaceState.KNOWN or place.buffer.is_paused:
            continue
        partition = place.topic_partition
        leader_epoch = image.leader_epoch(partition)
        node = place.node_to_fetch(image.leader(partition), now)
        if node is None or now < place.retry_at:
            continue
        if not place.buffer.has_room or place.buffer.fetch_offset < 0:
            plans[node].is_hurried = True
            continue
        topic = image.topic(partition.topic)
        plans[node].is_hurried |= is_settling
        plans[node].versions[partition] = place.version
        plans[node].wanted[partition] = WantedPartition(
            offset=place.buffer.fetch_offset,
            max_bytes=max_partition_bytes,
            leader_epoch=-1 if leader_epoch is None else leader_epoch,
            topic_id=(topic.topic_id if topic is not None else None) or ZERO_UUID,
        )
    return plans


def places_without_leader(positions: Positions, image: MetadataImage) -> list[Place]:
    """Return the places that wait for somebody to lead their partition."""
    return [place for place in positions if image.leader(place.topic_partition) is None]
