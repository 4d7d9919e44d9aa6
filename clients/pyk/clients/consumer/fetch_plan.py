"""What to fetch from which node, and what an error in the answer asks for. Pure."""

from __future__ import annotations

from collections import defaultdict
from enum import Enum

import attrs

from pyk.clients.consumer.fetch_memory import FetchMemory
from pyk.clients.consumer.fetch_session import WantedPartition
from pyk.clients.consumer.place import Place, PlaceState
from pyk.clients.consumer.positions import Positions
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
    held_bytes: int = 0
    """What was fetched of the node's partitions and is not read yet."""
    max_bytes: int = 0
    """How many bytes the node may send."""
    waits_for_room: bool = False
    """Whether partitions are left out until the application has read on."""
    is_hurried: bool = False
    """Whether partitions are left out that may soon be asked for, once the application has read on
    or their place is known."""

    def grant(self, max_bytes: int) -> None:
        """Let the node send so many bytes; with 0, nothing is wanted of it now."""
        self.max_bytes = max_bytes
        if not max_bytes:
            self.waits_for_room = True
            self.wanted.clear()
            self.versions.clear()


def plan(
    positions: Positions, image: MetadataImage, memory: FetchMemory, now: float
) -> dict[int, NodePlan]:
    """Return what to fetch from each node now, which may be nothing while the node is full.

    Partitions without a leader are left out.
    """
    plans: dict[int, NodePlan] = defaultdict(NodePlan)
    settling = {
        image.leader(place.topic_partition) for place in positions if place.state in SETTLING
    }
    for place in positions:
        if place.state is not PlaceState.KNOWN or place.buffer.is_paused:
            continue
        node = place.node_to_fetch(image.leader(place.topic_partition), now)
        # Of what cannot be read the application takes nothing: it holds up nobody.
        if node is None or place.buffer.is_unreadable:
            continue
        node_plan = plans[node]
        node_plan.held_bytes += place.buffer.buffered_bytes
        if now < place.retry_at:
            continue
        if not place.buffer.has_room or place.buffer.fetch_offset < 0:
            node_plan.is_hurried = node_plan.waits_for_room = True
            continue
        node_plan.is_hurried |= bool(settling)
        node_plan.versions[place.topic_partition] = place.version
        node_plan.wanted[place.topic_partition] = _wanted(place, image, memory.partition)
    # Nodes whose partitions are fetched in a moment have their shares already.
    shares = len(plans.keys() | (settling - {None}))
    for node_plan in plans.values():
        node_plan.grant(memory.grant(node_plan.held_bytes, shares))
    return plans


def _wanted(place: Place, image: MetadataImage, max_bytes: int) -> WantedPartition:
    partition = place.topic_partition
    topic, leader_epoch = image.topic(partition.topic), image.leader_epoch(partition)
    return WantedPartition(
        offset=place.buffer.fetch_offset,
        max_bytes=max_bytes,
        leader_epoch=-1 if leader_epoch is None else leader_epoch,
        topic_id=(topic.topic_id if topic is not None else None) or ZERO_UUID,
    )


def places_without_leader(positions: Positions, image: MetadataImage) -> list[Place]:
    """Return the places that wait for somebody to lead their partition."""
    return [place for place in positions if image.leader(place.topic_partition) is None]
