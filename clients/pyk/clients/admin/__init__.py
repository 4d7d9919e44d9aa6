"""The admin clients, their arguments and results.

Each name is loaded when it is first used: listing topics does not pay for ACLs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyk.runtime.first_use import loaded_on_first_use

if TYPE_CHECKING:
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
    from pyk.clients.admin.group_listings import GroupListing
    from pyk.clients.admin.groups import (
        ClassicGroupDescription,
        ConsumerGroupDescription,
        MemberDescription,
        PartitionLag,
    )
    from pyk.clients.admin.offset_resets import OffsetReset, ResetTo
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
        UserScramCredentialAlteration,
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
    )
    from pyk.clients.admin.topic_listings import TopicListing
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
    "ResetTo",
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
    "UserScramCredentialAlteration",
    "UserScramCredentialDeletion",
    "UserScramCredentialUpsertion",
    "UserScramCredentialsDescription",
]

_HOMES = {
    "AbortTransactionSpec": "transactions",
    "AccessControlEntry": "acls",
    "AccessControlEntryFilter": "acls",
    "AclBinding": "acls",
    "AclBindingFilter": "acls",
    "AclOperation": "pyk.protocol.acls",
    "AclPermissionType": "pyk.protocol.acls",
    "Admin": "admin",
    "AlterConfig": "configs",
    "AlterConfigOperation": "configs",
    "AsyncAdmin": "async_admin",
    "ClassicGroupDescription": "groups",
    "ClientQuotaAlteration": "quotas",
    "ClientQuotaEntity": "quotas",
    "ClientQuotaFilter": "quotas",
    "ClientQuotaFilterComponent": "quotas",
    "ClusterDescription": "cluster",
    "Condition": "conditions",
    "ConfigEntry": "configs",
    "ConfigResource": "configs",
    "ConfigResourceType": "configs",
    "ConfigSource": "configs",
    "ConfigSynonym": "configs",
    "ConfigType": "configs",
    "ConsumerGroupDescription": "groups",
    "CreatedTopic": "topics",
    "DelegationToken": "delegation_tokens",
    "ElectionType": "quorums",
    "FeatureMetadata": "features",
    "FeatureUpdate": "features",
    "GroupChange": "group_changes",
    "GroupChangeType": "group_changes",
    "GroupListing": "group_listings",
    "KafkaPrincipal": "delegation_tokens",
    "ListedOffset": "pyk.clients.offsets",
    "LogDirDescription": "replica_places",
    "MemberDescription": "groups",
    "NewPartitions": "topics",
    "NewTopic": "topics",
    "Node": "pyk.clients.engine.metadata",
    "OffsetReset": "offset_resets",
    "OffsetSpec": "pyk.clients.offsets",
    "PartitionDescription": "topic_descriptions",
    "PartitionLag": "groups",
    "PartitionReassignment": "replica_places",
    "PatternType": "pyk.protocol.acls",
    "ProducerIdAndEpoch": "transactions",
    "ProducerState": "transactions",
    "QuorumInfo": "quorums",
    "QuorumReplica": "quorums",
    "RaftVoterEndpoint": "raft_voters",
    "ReplicaInfo": "replica_places",
    "ReplicaLogDir": "replica_places",
    "ResetTo": "offset_resets",
    "ResourcePattern": "acls",
    "ResourcePatternFilter": "acls",
    "ResourceType": "pyk.protocol.acls",
    "ScramCredentialInfo": "scram_users",
    "ScramMechanism": "pyk.protocol.sasl",
    "ShareGroupDescription": "share_groups",
    "ShareMemberDescription": "share_groups",
    "SharePartitionOffset": "share_groups",
    "StreamsAssignment": "streams_groups",
    "StreamsGroupDescription": "streams_groups",
    "StreamsMemberDescription": "streams_groups",
    "StreamsSubtopology": "streams_groups",
    "StreamsTaskOffset": "streams_groups",
    "StreamsTopicInfo": "streams_groups",
    "TopicDescription": "topic_descriptions",
    "TopicListing": "topic_listings",
    "TopicPartitionReplica": "replica_places",
    "TransactionDescription": "transactions",
    "TransactionListing": "transactions",
    "TransactionState": "transactions",
    "Until": "conditions",
    "UpgradeType": "features",
    "UserScramCredentialAlteration": "scram_users",
    "UserScramCredentialDeletion": "scram_users",
    "UserScramCredentialUpsertion": "scram_users",
    "UserScramCredentialsDescription": "scram_users",
}

__getattr__ = loaded_on_first_use(globals(), _HOMES)
