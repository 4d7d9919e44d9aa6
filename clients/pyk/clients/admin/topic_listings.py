"""Topics as the admin client lists them. Pure."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.fields import ZERO_UUID
from pyk.protocol.messages.metadata import MetadataResponse
from pyk.runtime import slotted


@slotted.frozen
class TopicListing:
    """A topic in a list."""

    name: str
    topic_id: UUID | None
    is_internal: bool
    partition_count: int


def topic_listings(response: MetadataResponse, *, internal: bool) -> dict[str, TopicListing]:
    """Return all topics by name, Kafka's own only if they are asked for."""
    return {
        topic.name: TopicListing(
            topic.name, known_id(topic.topic_id), topic.is_internal, len(topic.partitions)
        )
        for topic in response.topics
        if topic.name is not None and (internal or not topic.is_internal)
    }


def known_id(topic_id: UUID) -> UUID | None:
    """Return the id of a topic, None where the broker is too old to have any."""
    return None if topic_id == ZERO_UUID else topic_id
