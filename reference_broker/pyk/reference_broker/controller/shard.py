"""The controller as an event-sourced shard: requests become metadata records, records the image."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import UUID

from pyk.reference_broker.config import BrokerConfig
from pyk.reference_broker.coordinator.decision import Decision
from pyk.runtime.timers import Moment

from .configs import Configs
from .delegation_tokens import TokenSettings
from .image import MetadataImage
from .quorum import Quorum
from .records import MetadataRecord
from .topics import TopicDefaults, Topics

if TYPE_CHECKING:
    from .topic_requests import DescribeTopic


NO_TOKENS = TokenSettings()
ALONE = Quorum(node_id=0, leader_epoch=0, high_watermark=0, log_end_offset=0)


class ControllerShard:
    """The metadata of the cluster, and what decides on changes (:mod:`.requests`).

    Replaying changes the image and nothing else.
    """

    def __init__(
        self,
        new_uuid: Callable[[], UUID],
        defaults: TopicDefaults,
        describe_topic: DescribeTopic,
        tokens: TokenSettings = NO_TOKENS,
        config: Callable[[], BrokerConfig] = BrokerConfig,
        *,
        quorum: Callable[[], Quorum] = lambda: ALONE,
    ) -> None:
        self.image = MetadataImage()
        self.topics = Topics(self.image, new_uuid, defaults)
        self.configs = Configs(self.image, config)
        self.new_uuid = new_uuid
        self.defaults = defaults
        self.describe_topic = describe_topic
        self.tokens = tokens
        self.quorum = quorum

    def decode(self, key: bytes | None, value: bytes | None) -> MetadataRecord:
        return MetadataRecord.decode(key, value)

    def replay(self, record: MetadataRecord) -> None:
        self.image.replay(record.message)

    def loaded(self, moment: Moment) -> list[Decision]:
        return []

    def unloaded(self) -> None:
        """Do nothing: no request waits inside the controller."""
