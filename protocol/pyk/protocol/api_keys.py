"""The APIs of Kafka and the facts of each that hold whatever its messages look like."""

from __future__ import annotations

from enum import Flag, IntEnum, auto
from typing import Self

from .names import camel_case
from .versions import VersionRange


class ApiFact(Flag):
    """The facts about the use of an API."""

    NOTHING = 0
    INTERNAL = auto()
    CLUSTER_ACTION = auto()
    FORWARDABLE = auto()
    LATEST_UNSTABLE = auto()


NOTHING = ApiFact.NOTHING
INTERNAL = ApiFact.INTERNAL
CLUSTER_ACTION = ApiFact.CLUSTER_ACTION
FORWARDABLE = ApiFact.FORWARDABLE
LATEST_UNSTABLE = ApiFact.LATEST_UNSTABLE


class ApiKey(IntEnum):
    """The API keys of requests, with their versions and those in the compact encoding."""

    versions: VersionRange
    flexible: VersionRange
    facts: ApiFact

    def __new__(
        cls, key: int, versions: str = "none", flexible: str = "none", facts: ApiFact = NOTHING
    ) -> Self:
        member = int.__new__(cls, key)
        member._value_ = key
        member.versions = VersionRange.parse(versions)
        member.flexible = VersionRange.parse(flexible)
        member.facts = facts
        return member

    @property
    def api_name(self) -> str:
        """Kafka's name of the API: ``OffsetForLeaderEpoch``."""
        return camel_case(self.name)

    @property
    def stable_versions(self) -> VersionRange:
        """The versions that peers may use without being told to try unfinished ones."""
        return VersionRange(
            self.versions.lowest, self.versions.highest - (LATEST_UNSTABLE in self.facts)
        )

    @property
    def is_internal(self) -> bool:
        """Only brokers and controllers send it."""
        return INTERNAL in self.facts

    @property
    def needs_cluster_action(self) -> bool:
        """It takes the permission ClusterAction on the cluster."""
        return CLUSTER_ACTION in self.facts

    @property
    def is_forwardable(self) -> bool:
        """A broker passes it to the controller, and so advertises only versions that both have."""
        return FORWARDABLE in self.facts

    PRODUCE = 0, "0-13", "9+"
    FETCH = 1, "0-18", "12+"
    LIST_OFFSETS = 2, "0-11", "6+"
    METADATA = 3, "0-13", "9+"
    LEADER_AND_ISR = 4, "0-7", "4+", INTERNAL | CLUSTER_ACTION
    STOP_REPLICA = 5, "0-4", "2+", INTERNAL | CLUSTER_ACTION
    UPDATE_METADATA = 6, "0-8", "6+", INTERNAL | CLUSTER_ACTION
    CONTROLLED_SHUTDOWN = 7, "0-3", "3+", INTERNAL | CLUSTER_ACTION
    OFFSET_COMMIT = 8, "0-10", "8+"
    OFFSET_FETCH = 9, "0-10", "6+"
    FIND_COORDINATOR = 10, "0-6", "3+"
    JOIN_GROUP = 11, "0-9", "6+"
    HEARTBEAT = 12, "0-4", "4+"
    LEAVE_GROUP = 13, "0-5", "4+"
    SYNC_GROUP = 14, "0-5", "4+"
    DESCRIBE_GROUPS = 15, "0-6", "5+"
    LIST_GROUPS = 16, "0-5", "3+"
    SASL_HANDSHAKE = 17, "0-1", "none"
    API_VERSIONS = 18, "0-5", "3+"
    CREATE_TOPICS = 19, "0-7", "5+", FORWARDABLE
    DELETE_TOPICS = 20, "0-6", "4+", FORWARDABLE
    DELETE_RECORDS = 21, "0-2", "2+"
    INIT_PRODUCER_ID = 22, "0-6", "2+", LATEST_UNSTABLE
    OFFSET_FOR_LEADER_EPOCH = 23, "0-4", "4+"
    ADD_PARTITIONS_TO_TXN = 24, "0-5", "3+"
    ADD_OFFSETS_TO_TXN = 25, "0-4", "3+"
    END_TXN = 26, "0-5", "3+"
    WRITE_TXN_MARKERS = 27, "0-2", "1+", CLUSTER_ACTION
    TXN_OFFSET_COMMIT = 28, "0-6", "3+"
    DESCRIBE_ACLS = 29, "0-3", "2+"
    CREATE_ACLS = 30, "0-3", "2+", FORWARDABLE
    DELETE_ACLS = 31, "0-3", "2+", FORWARDABLE
    DESCRIBE_CONFIGS = 32, "0-4", "4+"
    ALTER_CONFIGS = 33, "0-2", "2+", FORWARDABLE
    ALTER_REPLICA_LOG_DIRS = 34, "0-2", "2+"
    DESCRIBE_LOG_DIRS = 35, "0-5", "2+"
    SASL_AUTHENTICATE = 36, "0-2", "2+"
    CREATE_PARTITIONS = 37, "0-3", "2+", FORWARDABLE
    CREATE_DELEGATION_TOKEN = 38, "0-3", "2+", FORWARDABLE
    RENEW_DELEGATION_TOKEN = 39, "0-2", "2+", FORWARDABLE
    EXPIRE_DELEGATION_TOKEN = 40, "0-2", "2+", FORWARDABLE
    DESCRIBE_DELEGATION_TOKEN = 41, "0-3", "2+"
    DELETE_GROUPS = 42, "0-3", "2+"
    ELECT_LEADERS = 43, "0-2", "2+", FORWARDABLE
    INCREMENTAL_ALTER_CONFIGS = 44, "0-1", "1+", FORWARDABLE
    ALTER_PARTITION_REASSIGNMENTS = 45, "0-1", "0+", FORWARDABLE
    LIST_PARTITION_REASSIGNMENTS = 46, "0", "0+", FORWARDABLE
    OFFSET_DELETE = 47, "0", "none"
    DESCRIBE_CLIENT_QUOTAS = 48, "0-1", "1+"
    ALTER_CLIENT_QUOTAS = 49, "0-1", "1+", FORWARDABLE
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50, "0", "0+"
    ALTER_USER_SCRAM_CREDENTIALS = 51, "0", "0+", FORWARDABLE
    VOTE = 52, "0-2", "0+", INTERNAL | CLUSTER_ACTION
    BEGIN_QUORUM_EPOCH = 53, "0-1", "1+", INTERNAL | CLUSTER_ACTION
    END_QUORUM_EPOCH = 54, "0-1", "1+", INTERNAL | CLUSTER_ACTION
    DESCRIBE_QUORUM = 55, "0-2", "0+", CLUSTER_ACTION | FORWARDABLE
    ALTER_PARTITION = 56, "0-3", "0+", INTERNAL | CLUSTER_ACTION
    UPDATE_FEATURES = 57, "0-2", "0+", CLUSTER_ACTION | FORWARDABLE
    ENVELOPE = 58, "0", "0+", INTERNAL | CLUSTER_ACTION
    FETCH_SNAPSHOT = 59, "0-1", "0+", INTERNAL
    DESCRIBE_CLUSTER = 60, "0-2", "0+"
    DESCRIBE_PRODUCERS = 61, "0", "0+"
    BROKER_REGISTRATION = 62, "0-4", "0+", INTERNAL | CLUSTER_ACTION
    BROKER_HEARTBEAT = 63, "0-2", "0+", INTERNAL | CLUSTER_ACTION
    UNREGISTER_BROKER = 64, "0", "0+", FORWARDABLE
    DESCRIBE_TRANSACTIONS = 65, "0", "0+"
    LIST_TRANSACTIONS = 66, "0-2", "0+"
    ALLOCATE_PRODUCER_IDS = 67, "0", "0+", INTERNAL | CLUSTER_ACTION | FORWARDABLE
    CONSUMER_GROUP_HEARTBEAT = 68, "0-1", "0+"
    CONSUMER_GROUP_DESCRIBE = 69, "0-1", "0+"
    CONTROLLER_REGISTRATION = 70, "0", "0+", INTERNAL
    GET_TELEMETRY_SUBSCRIPTIONS = 71, "0", "0+"
    PUSH_TELEMETRY = 72, "0", "0+"
    ASSIGN_REPLICAS_TO_DIRS = 73, "0", "0+", INTERNAL
    LIST_CONFIG_RESOURCES = 74, "0-1", "0+"
    DESCRIBE_TOPIC_PARTITIONS = 75, "0", "0+"
    SHARE_GROUP_HEARTBEAT = 76, "1", "0+"
    SHARE_GROUP_DESCRIBE = 77, "1", "0+"
    SHARE_FETCH = 78, "1-2", "0+"
    SHARE_ACKNOWLEDGE = 79, "1-2", "0+"
    ADD_RAFT_VOTER = 80, "0-1", "0+", FORWARDABLE
    REMOVE_RAFT_VOTER = 81, "0", "0+", FORWARDABLE
    UPDATE_RAFT_VOTER = 82, "0", "0+", INTERNAL
    INITIALIZE_SHARE_GROUP_STATE = 83, "0", "0+", INTERNAL | CLUSTER_ACTION
    READ_SHARE_GROUP_STATE = 84, "0", "0+", INTERNAL | CLUSTER_ACTION
    WRITE_SHARE_GROUP_STATE = 85, "0-1", "0+", INTERNAL | CLUSTER_ACTION
    DELETE_SHARE_GROUP_STATE = 86, "0", "0+", INTERNAL | CLUSTER_ACTION
    READ_SHARE_GROUP_STATE_SUMMARY = 87, "0-1", "0+", INTERNAL | CLUSTER_ACTION
    STREAMS_GROUP_HEARTBEAT = 88, "0-1", "0+"
    STREAMS_GROUP_DESCRIBE = 89, "0-1", "0+"
    DESCRIBE_SHARE_GROUP_OFFSETS = 90, "0-1", "0+"
    ALTER_SHARE_GROUP_OFFSETS = 91, "0", "0+"
    DELETE_SHARE_GROUP_OFFSETS = 92, "0", "0+"
    STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE = 93, "0", "0+"
    UNREGISTER_CONTROLLER = 94, "0", "0+", FORWARDABLE
