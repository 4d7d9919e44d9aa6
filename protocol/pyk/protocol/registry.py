"""Find message classes by name, API key or record type, and import their modules only then."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from .api_keys import ApiKey
from .errors import UnknownMessageError
from .names import snake_case

if TYPE_CHECKING:
    from .schema import Message, MessageKind

# Requests and responses live in the module named after their API; these are the others.
_MODULES = {
    "headers": ("RequestHeader", "ResponseHeader"),
    "consumer_protocol": (
        "ConsumerProtocolSubscription",
        "ConsumerProtocolAssignment",
        "StickyAssignorUserData",
        "CooperativeStickyAssignorUserData",
    ),
    "group_records": (
        "LegacyOffsetCommitKey",
        "LegacyOffsetCommitValue",
        "OffsetCommitKey",
        "OffsetCommitValue",
        "GroupMetadataKey",
        "GroupMetadataValue",
    ),
    "consumer_group_records": (
        "ConsumerGroupMetadataKey",
        "ConsumerGroupMetadataValue",
        "ConsumerGroupPartitionMetadataKey",
        "ConsumerGroupPartitionMetadataValue",
        "ConsumerGroupMemberMetadataKey",
        "ConsumerGroupMemberMetadataValue",
        "ConsumerGroupRegularExpressionKey",
        "ConsumerGroupRegularExpressionValue",
        "ConsumerGroupTargetAssignmentMetadataKey",
        "ConsumerGroupTargetAssignmentMetadataValue",
        "ConsumerGroupTargetAssignmentMemberKey",
        "ConsumerGroupTargetAssignmentMemberValue",
        "ConsumerGroupCurrentMemberAssignmentKey",
        "ConsumerGroupCurrentMemberAssignmentValue",
    ),
    "share_group_records": (
        "ShareGroupMetadataKey",
        "ShareGroupMetadataValue",
        "ShareGroupMemberMetadataKey",
        "ShareGroupMemberMetadataValue",
        "ShareGroupTargetAssignmentMetadataKey",
        "ShareGroupTargetAssignmentMetadataValue",
        "ShareGroupTargetAssignmentMemberKey",
        "ShareGroupTargetAssignmentMemberValue",
        "ShareGroupCurrentMemberAssignmentKey",
        "ShareGroupCurrentMemberAssignmentValue",
        "ShareGroupStatePartitionMetadataKey",
        "ShareGroupStatePartitionMetadataValue",
    ),
    "streams_group_records": (
        "StreamsGroupMetadataKey",
        "StreamsGroupMetadataValue",
        "StreamsGroupTopologyKey",
        "StreamsGroupTopologyValue",
        "StreamsGroupMemberMetadataKey",
        "StreamsGroupMemberMetadataValue",
        "StreamsGroupTargetAssignmentMetadataKey",
        "StreamsGroupTargetAssignmentMetadataValue",
        "StreamsGroupTargetAssignmentMemberKey",
        "StreamsGroupTargetAssignmentMemberValue",
        "StreamsGroupCurrentMemberAssignmentKey",
        "StreamsGroupCurrentMemberAssignmentValue",
    ),
    "share_state_records": (
        "ShareSnapshotKey",
        "ShareSnapshotValue",
        "ShareUpdateKey",
        "ShareUpdateValue",
    ),
    "control_records": ("ControlRecordTypeSchema", "EndTxnMarker", "LeaderChangeMessage"),
    "raft_records": (
        "KRaftVersionRecord",
        "SnapshotHeaderRecord",
        "SnapshotFooterRecord",
        "VotersRecord",
    ),
    "quorum_state": ("QuorumStateData",),
    "envelope": ("DefaultPrincipalData",),
    "producer_snapshot": ("ProducerSnapshot",),
    "transaction_records": ("TransactionLogKey", "TransactionLogValue"),
    "transaction_index": ("AbortedTxn",),
    "metadata_records": (
        "RegisterBrokerRecord",
        "BrokerRegistrationChangeRecord",
        "UnregisterBrokerRecord",
        "TopicRecord",
        "PartitionRecord",
        "PartitionChangeRecord",
        "ClearElrRecord",
        "ConfigRecord",
        "RemoveTopicRecord",
        "FeatureLevelRecord",
        "ProducerIdsRecord",
    ),
    "metadata_change_records": (
        "FenceBrokerRecord",
        "UnfenceBrokerRecord",
        "NoOpRecord",
        "RegisterControllerRecord",
        "UnregisterControllerRecord",
        "BeginTransactionRecord",
        "EndTransactionRecord",
        "AbortTransactionRecord",
        "ZkMigrationStateRecord",
    ),
    "access_records": (
        "AccessControlEntryRecord",
        "RemoveAccessControlEntryRecord",
        "UserScramCredentialRecord",
        "RemoveUserScramCredentialRecord",
        "DelegationTokenRecord",
        "RemoveDelegationTokenRecord",
        "ClientQuotaRecord",
    ),
    "remote_log_records": (
        "RemoteLogSegmentMetadataRecord",
        "RemoteLogSegmentMetadataUpdateRecord",
        "RemotePartitionDeleteMetadataRecord",
        "RemoteLogSegmentMetadataSnapshotRecord",
    ),
    "streams_protocol": ("SubscriptionInfoData",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


@cache
def message_class(name: str) -> type[Message]:
    """Return the class of a message by Kafka's name, such as ``FetchRequest``.

    Raises UnknownMessageError for an unknown name.
    """
    module = _MODULE_OF.get(name) or snake_case(
        name.removesuffix("Request").removesuffix("Response")
    )
    path = f"{__package__}.messages.{module}"
    if not module.isidentifier() or find_spec(path) is None:
        raise UnknownMessageError(f"no message {name!r}")
    found: type[Message] | None = getattr(import_module(path), name, None)
    if found is None:
        raise UnknownMessageError(f"no message {name!r}")
    return found


def request_class(api_key: ApiKey) -> type[Message]:
    """Return the class of the request of an API; raise UnknownMessageError if pyk has no such
    class."""
    return _class_of(api_key, "Request")


def response_class(api_key: ApiKey) -> type[Message]:
    """Return the class of the response of an API; raise UnknownMessageError if pyk has no such
    class."""
    return _class_of(api_key, "Response")


def known_messages() -> list[str]:
    """Return the names of all messages that have a class."""
    apis = [key.api_name for key in ApiKey if _has_module(key)]
    return [f"{api}{kind}" for api in apis for kind in ("Request", "Response")] + list(_MODULE_OF)


@cache
def record_classes(module: str, kind: MessageKind) -> dict[int, type[Message]]:
    """Return the persisted records of one kind in a module of messages, by type number."""
    classes = [message_class(name) for name in _MODULES[module]]
    return {cls.api_key: cls for cls in classes if cls.kind is kind}


@cache
def _class_of(api_key: ApiKey, kind: str) -> type[Message]:
    return message_class(f"{api_key.api_name}{kind}")


def _has_module(api_key: ApiKey) -> bool:
    return find_spec(f"{__package__}.messages.{api_key.name.lower()}") is not None
