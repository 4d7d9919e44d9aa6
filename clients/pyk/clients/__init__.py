"""Blocking and asyncio Kafka clients.

Each name is loaded when it is first used: a program that only produces does not pay for consumers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pyk.protocol.version import __version__ as __version__

if TYPE_CHECKING:
    from pyk.clients import errors
    from pyk.clients.admin import (
        AbortTransactionSpec,
        AccessControlEntry,
        AccessControlEntryFilter,
        AclBinding,
        AclBindingFilter,
        AclOperation,
        AclPermissionType,
        Admin,
        AlterConfig,
        AlterConfigOperation,
        AsyncAdmin,
        ClusterDescription,
        ConfigEntry,
        ConfigResource,
        ConfigResourceType,
        ConfigSource,
        ConsumerGroupDescription,
        CreatedTopic,
        GroupListing,
        ListedOffset,
        MemberDescription,
        NewTopic,
        Node,
        OffsetSpec,
        PartitionDescription,
        PartitionLag,
        PatternType,
        ProducerIdAndEpoch,
        ProducerState,
        ResourcePattern,
        ResourcePatternFilter,
        ResourceType,
        TopicDescription,
        TopicListing,
        TransactionDescription,
        TransactionListing,
        TransactionState,
    )
    from pyk.clients.consumer import (
        AsyncConsumer,
        Consumer,
        ConsumerHealth,
        ConsumerRecord,
        ConsumerRecords,
        ConsumerStats,
        PartitionHealth,
        PartitionState,
        RebalanceListener,
        TimestampType,
    )
    from pyk.clients.errors import *  # noqa: F403
    from pyk.clients.offsets import ConsumerGroupMetadata
    from pyk.clients.producer import (
        AsyncProducer,
        BatchDelivery,
        Delivery,
        PreparedTransaction,
        Producer,
        ProducerStats,
        RecordMetadata,
    )
    from pyk.clients.security import Oauth, Plain, Scram, Secret
    from pyk.clients.serialization import (
        Deserializer,
        DoubleDeserializer,
        DoubleSerializer,
        IntegerDeserializer,
        IntegerSerializer,
        JsonDeserializer,
        JsonSerializer,
        LongDeserializer,
        LongSerializer,
        Serializer,
        StringDeserializer,
        StringSerializer,
    )
    from pyk.clients.topic_partition import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition

    __all__ = [
        "AbortTransactionSpec",
        "AccessControlEntry",
        "AccessControlEntryFilter",
        "AclBinding",
        "AclBindingFilter",
        "AclOperation",
        "AclPermissionType",
        "Admin",
        "AlterConfig",
        "AlterConfigOperation",
        "AsyncAdmin",
        "AsyncConsumer",
        "AsyncProducer",
        "BatchDelivery",
        "ClusterDescription",
        "ConfigEntry",
        "ConfigResource",
        "ConfigResourceType",
        "ConfigSource",
        "Consumer",
        "ConsumerGroupDescription",
        "ConsumerGroupMetadata",
        "ConsumerHealth",
        "ConsumerRecord",
        "ConsumerRecords",
        "ConsumerStats",
        "CreatedTopic",
        "Delivery",
        "Deserializer",
        "DoubleDeserializer",
        "DoubleSerializer",
        "GroupListing",
        "IntegerDeserializer",
        "IntegerSerializer",
        "JsonDeserializer",
        "JsonSerializer",
        "ListedOffset",
        "LongDeserializer",
        "LongSerializer",
        "MemberDescription",
        "NewTopic",
        "Node",
        "Oauth",
        "OffsetAndMetadata",
        "OffsetAndTimestamp",
        "OffsetSpec",
        "PartitionDescription",
        "PartitionHealth",
        "PartitionLag",
        "PartitionState",
        "PatternType",
        "Plain",
        "PreparedTransaction",
        "Producer",
        "ProducerIdAndEpoch",
        "ProducerState",
        "ProducerStats",
        "RebalanceListener",
        "RecordMetadata",
        "ResourcePattern",
        "ResourcePatternFilter",
        "ResourceType",
        "Scram",
        "Secret",
        "Serializer",
        "StringDeserializer",
        "StringSerializer",
        "TimestampType",
        "TopicDescription",
        "TopicListing",
        "TopicPartition",
        "TransactionDescription",
        "TransactionListing",
        "TransactionState",
    ]
    __all__ += errors.__all__

_HOMES = {
    "AbortTransactionSpec": "admin",
    "AccessControlEntry": "admin",
    "AccessControlEntryFilter": "admin",
    "AclBinding": "admin",
    "AclBindingFilter": "admin",
    "AclOperation": "admin",
    "AclPermissionType": "admin",
    "Admin": "admin",
    "AlterConfig": "admin",
    "AlterConfigOperation": "admin",
    "AsyncAdmin": "admin",
    "AsyncConsumer": "consumer",
    "AsyncProducer": "producer",
    "BatchDelivery": "producer",
    "ClusterDescription": "admin",
    "ConfigEntry": "admin",
    "ConfigResource": "admin",
    "ConfigResourceType": "admin",
    "ConfigSource": "admin",
    "Consumer": "consumer",
    "ConsumerGroupDescription": "admin",
    "ConsumerGroupMetadata": "offsets",
    "ConsumerHealth": "consumer",
    "ConsumerRecord": "consumer",
    "ConsumerRecords": "consumer",
    "ConsumerStats": "consumer",
    "CreatedTopic": "admin",
    "Delivery": "producer",
    "Deserializer": "serialization",
    "DoubleDeserializer": "serialization",
    "DoubleSerializer": "serialization",
    "GroupListing": "admin",
    "IntegerDeserializer": "serialization",
    "IntegerSerializer": "serialization",
    "JsonDeserializer": "serialization",
    "JsonSerializer": "serialization",
    "ListedOffset": "admin",
    "LongDeserializer": "serialization",
    "LongSerializer": "serialization",
    "MemberDescription": "admin",
    "NewTopic": "admin",
    "Node": "admin",
    "Oauth": "security",
    "OffsetAndMetadata": "topic_partition",
    "OffsetAndTimestamp": "topic_partition",
    "OffsetSpec": "admin",
    "PartitionDescription": "admin",
    "PartitionHealth": "consumer",
    "PartitionLag": "admin",
    "PartitionState": "consumer",
    "PatternType": "admin",
    "Plain": "security",
    "PreparedTransaction": "producer",
    "Producer": "producer",
    "ProducerIdAndEpoch": "admin",
    "ProducerState": "admin",
    "ProducerStats": "producer",
    "RebalanceListener": "consumer",
    "RecordMetadata": "producer",
    "ResourcePattern": "admin",
    "ResourcePatternFilter": "admin",
    "ResourceType": "admin",
    "Scram": "security",
    "Secret": "security",
    "Serializer": "serialization",
    "StringDeserializer": "serialization",
    "StringSerializer": "serialization",
    "TimestampType": "consumer",
    "TopicDescription": "admin",
    "TopicListing": "admin",
    "TopicPartition": "topic_partition",
    "TransactionDescription": "admin",
    "TransactionListing": "admin",
    "TransactionState": "admin",
}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        found: Any = [*_HOMES, *_errors().__all__]
    elif name in _HOMES:
        found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    elif name in _errors().__all__:
        found = getattr(_errors(), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_errors().__all__})


def _errors() -> Any:
    return import_module(f"{__name__}.errors")
