"""Share consumers (KIP-932): the blocking and the asyncio one."""

from pyk.clients.share.acknowledge_type import AcknowledgeType
from pyk.clients.share.async_share_consumer import AsyncShareConsumer
from pyk.clients.share.share_consumer import ShareConsumer
from pyk.clients.share.share_health import (
    ShareConsumerHealth,
    ShareConsumerStats,
    SharePartitionHealth,
    SharePartitionState,
)

__all__ = [
    "AcknowledgeType",
    "AsyncShareConsumer",
    "ShareConsumer",
    "ShareConsumerHealth",
    "ShareConsumerStats",
    "SharePartitionHealth",
    "SharePartitionState",
]
