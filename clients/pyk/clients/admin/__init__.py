"""The admin clients, their arguments and results."""

from __future__ import annotations

from pyk.clients.admin.acls import (
    AccessControlEntry,
    AccessControlEntryFilter,
    AclBinding,
    AclBindingFilter,
    ResourcePattern,
    ResourcePatternFilter,
)
from pyk.clients.admin.admin import Admin
from pyk.clients.admin.async_admin import AsyncAdmin
from pyk.clients.admin.cluster import ClusterDescription
from pyk.clients.admin.conditions import Condition, Until
from pyk.clients.admin.configs import (
    AlterConfig,
    AlterConfigOperation,
    ConfigEntry,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
    ConfigSynonym,
    ConfigType,
)
from pyk.clients.admin.delegation_tokens import DelegationToken, KafkaPrincipal
from pyk.clients.admin.features import FeatureMetadata, FeatureUpdate, UpgradeType
from pyk.clients.admin.group_changes import GroupChange, GroupChangeType
from pyk.clients.admin.groups import (
    ClassicGroupDescription,
    ConsumerGroupDescription,
    GroupListing,
    MemberDescription,
    PartitionLag,
)
from pyk.clients.admin.offset_resets import OffsetReset
from pyk.clients.admin.quorums import ElectionType, QuorumInfo, QuorumReplica
from pyk.clients.admin.quotas import (
    ClientQuotaAlteration,
    ClientQuotaEntity,
    ClientQuotaFilter,
    ClientQuotaFilterComponent,
)
from pyk.clients.admin.raft_voters import RaftVoterEndpoint
from pyk.clients.admin.replica_places import (
    LogDirDescription,
    PartitionReassignment,
    ReplicaInfo,
    ReplicaLogDir,
    TopicPartitionReplica,
)
from pyk.clients.admin.scram_users import (
    ScramCredentialInfo,
    UserScramCredentialDeletion,
    UserScramCredentialsDescription,
    UserScramCredentialUpsertion,
)
from pyk.clients.admin.share_groups import (
    ShareGroupDescription,
    ShareMemberDescription,
    SharePartitionOffset,
)
from pyk.clients.admin.streams_groups import (
    StreamsAssignment,
    StreamsGroupDescription,
    StreamsMemberDescription,
    StreamsSubtopology,
    StreamsTaskOffset,
    StreamsTopicInfo,
)
from pyk.clients.admin.topic_descriptions import (
    PartitionDescription,
    TopicDescription,
    TopicListing,
)
from pyk.clients.admin.topics import CreatedTopic, NewPartitions, NewTopic
from pyk.clients.admin.transactions import (
    AbortTransactionSpec,
    ProducerIdAndEpoch,
    ProducerState,
    TransactionDescription,
    TransactionListing,
    TransactionState,
)
from pyk.clients.engine.metadata import Node
from pyk.clients.offsets import ListedOffset, OffsetSpec
from pyk.protocol.acls import AclOperation, AclPermissionType, PatternType, ResourceType
from pyk.protocol.sasl import ScramMechanism

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
    "ClassicGroupDescription",
    "ClientQuotaAlteration",
    "ClientQuotaEntity",
    "ClientQuotaFilter",
    "ClientQuotaFilterComponent",
    "ClusterDescription",
    "Condition",
    "ConfigEntry",
    "ConfigResource",
    "ConfigResourceType",
    "ConfigSource",
    "ConfigSynonym",
    "ConfigType",
    "ConsumerGroupDescription",
    "CreatedTopic",
    "DelegationToken",
    "ElectionType",
    "FeatureMetadata",
    "FeatureUpdate",
    "GroupChange",
    "GroupChangeType",
    "GroupListing",
    "KafkaPrincipal",
    "ListedOffset",
    "LogDirDescription",
    "MemberDescription",
    "NewPartitions",
    "NewTopic",
    "Node",
    "OffsetReset",
    "OffsetSpec",
    "PartitionDescription",
    "PartitionLag",
    "PartitionReassignment",
    "PatternType",
    "ProducerIdAndEpoch",
    "ProducerState",
    "QuorumInfo",
    "QuorumReplica",
    "RaftVoterEndpoint",
    "ReplicaInfo",
    "ReplicaLogDir",
    "ResourcePattern",
    "ResourcePatternFilter",
    "ResourceType",
    "ScramCredentialInfo",
    "ScramMechanism",
    "ShareGroupDescription",
    "ShareMemberDescription",
    "SharePartitionOffset",
    "StreamsAssignment",
    "StreamsGroupDescription",
    "StreamsMemberDescription",
    "StreamsSubtopology",
    "StreamsTaskOffset",
    "StreamsTopicInfo",
    "TopicDescription",
    "TopicListing",
    "TopicPartitionReplica",
    "TransactionDescription",
    "TransactionListing",
    "TransactionState",
    "Until",
    "UpgradeType",
    "UserScramCredentialDeletion",
    "UserScramCredentialUpsertion",
    "UserScramCredentialsDescription",
]
