"""StreamsGroupTopologyDescriptionUpdate: show operators what an application does (KIP-1331)."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    int8,
    int16,
    int32,
    nested,
    request,
    response,
    string,
    struct,
)


@struct
class TopologyDescriptionNode(Struct):
    """A source, processor or sink."""

    name: str = string()
    node_type: int = int8()
    """1 source, 2 processor, 3 sink."""
    source_topics: list[str] = array(string)
    """Of a source; empty if they are found at run time."""
    sink_topic: str | None = string(nullable="0+", default=None)
    """Of a sink; None if it is chosen for each record."""
    stores: list[str] = array(string)
    """Of a processor."""
    successors: list[str] = array(string)
    """Names of the nodes that get its output."""


@struct
class TopologyDescriptionSubtopology(Struct):
    """The nodes of one subtopology."""

    subtopology_id: str = string()
    nodes: list[TopologyDescriptionNode] = array(TopologyDescriptionNode)


@struct
class TopologyDescriptionGlobalStore(Struct):
    """A store that every instance fills with the whole of a topic."""

    source: TopologyDescriptionNode = nested(TopologyDescriptionNode)
    processor: TopologyDescriptionNode = nested(TopologyDescriptionNode)


@struct
class TopologyDescription(Struct):
    """The topology of the application, for people to look at."""

    subtopologies: list[TopologyDescriptionSubtopology] = array(TopologyDescriptionSubtopology)
    global_stores: list[TopologyDescriptionGlobalStore] = array(TopologyDescriptionGlobalStore)


@request(ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE, versions="0", flexible="0+")
class StreamsGroupTopologyDescriptionUpdateRequest(Message):
    """Describe the whole topology, for a plugin of the broker to store.

    A member sends it to the group coordinator when a heartbeat response asks for it.
    """

    group_id: str = string()
    member_id: str = string()
    topology_epoch: int = int32()
    topology_description: TopologyDescription = nested(TopologyDescription)


@response(ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE, versions="0", flexible="0+")
class StreamsGroupTopologyDescriptionUpdateResponse(Message):
    """Return whether the description is stored."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
