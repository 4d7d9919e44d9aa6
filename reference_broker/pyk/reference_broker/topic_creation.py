"""Topics that the broker itself creates: for clients that ask for them, and for its groups."""

from __future__ import annotations

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

from .config import BrokerConfig
from .controller.names import GROUP_METADATA_TOPIC
from .controller.shard import ControllerShard
from .controller.topics import USE_DEFAULT
from .coordinator.runtime import ShardRuntime
from .deferred import Deferred


def auto_created_topic(name: str, config: BrokerConfig) -> CreatableTopic:
    """Return a topic as the broker is configured to create it."""
    if name != GROUP_METADATA_TOPIC:
        return CreatableTopic(name=name, num_partitions=USE_DEFAULT, replication_factor=USE_DEFAULT)
    return CreatableTopic(
        name=name,
        num_partitions=config.offsets_topic_num_partitions,
        replication_factor=config.offsets_topic_replication_factor,
        configs=[
            CreatableTopicConfig(name="cleanup.policy", value="compact"),
            CreatableTopicConfig(name="compression.type", value="producer"),
            CreatableTopicConfig(
                name="segment.bytes", value=str(config.offsets_topic_segment_bytes)
            ),
        ],
    )


def create_topic(
    controller: ShardRuntime[ControllerShard], topic: CreatableTopic
) -> Deferred[tuple[ErrorCode, str | None]]:
    """Have the controller create a topic; return its error code and message."""
    request = CreateTopicsRequest(topics=[topic])

    def refused(code: ErrorCode) -> CreateTopicsResponse:
        return CreateTopicsResponse(topics=[CreatableTopicResult(error_code=code)])

    created: Deferred[CreateTopicsResponse] = controller.ask(
        lambda shard, _: shard.create_topics(request), refused
    )
    return created.then(
        lambda response: (
            ErrorCode(response.topics[0].error_code),
            response.topics[0].error_message,
        )
    )
