"""Topics that the broker itself creates: for clients that ask for them, and for its shards."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyk.protocol.errors import ErrorCode

from .broker_configs import BrokerConfigs
from .controller.topics import USE_DEFAULT, Charge, uncharged
from .controller_channel import ControllerChannel
from .coordinator.shard_kind import ShardKind
from .deferred import Deferred

if TYPE_CHECKING:
    from pyk.protocol.messages.create_topics import CreatableTopic, CreateTopicsResponse

log = logging.getLogger(__name__)

CreationResult = tuple[ErrorCode, str | None]
"""The error code of a topic, and its message."""


class TopicCreator:
    """Has the controller create single topics."""

    def __init__(
        self,
        controller: ControllerChannel,
        configs: BrokerConfigs,
        kinds: Mapping[str, ShardKind],
    ) -> None:
        self._controller = controller
        self._configs = configs
        self._kinds = kinds

    def create(self, topic: CreatableTopic, charge: Charge = uncharged) -> Deferred[CreationResult]:
        """Create a topic as CreateTopics does; return how that went."""
        from pyk.protocol.messages.create_topics import CreateTopicsRequest

        created: Deferred[CreateTopicsResponse] = self._controller.send(
            CreateTopicsRequest(topics=[topic]), charge
        )
        return created.then(
            lambda response: (
                ErrorCode(response.topics[0].error_code),
                response.topics[0].error_message,
            )
        )

    def auto_create(self, name: str) -> Deferred[CreationResult]:
        """Create a topic that a client looked for, as the broker is configured to."""
        created = self.create(self._topic(name))
        created.when_done(lambda result: log.debug("Created %r: %s", name, result))
        return created

    def _topic(self, name: str) -> CreatableTopic:
        from pyk.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig

        kind = self._kinds.get(name)
        if kind is None:
            return CreatableTopic(
                name=name, num_partitions=USE_DEFAULT, replication_factor=USE_DEFAULT
            )
        internal = kind.internal_topic(self._configs.broker)
        return CreatableTopic(
            name=name,
            num_partitions=internal.partitions,
            replication_factor=internal.replication_factor,
            configs=[
                CreatableTopicConfig(name=key, value=value)
                for key, value in internal.configs.items()
            ],
        )
