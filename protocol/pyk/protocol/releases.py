"""The versions of Kafka's APIs that releases of Apache Kafka serve. Pure.

Brokers up to 3.2 are those with ZooKeeper, from 3.3 on those with KRaft. Versions that a release
calls unstable are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from .api_keys import ApiKey
from .versions import NO_VERSIONS, VersionRange

RELEASES = (
    *("2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8"),
    *("3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9"),
    *("4.0", "4.1", "4.2", "4.3"),
)

# Each API with its versions from the release on in which they changed.
_CHANGES = """
Produce 2.1:0-7 2.4:0-8 2.8:0-9 3.7:0-10 3.8:0-11 4.0:3-12 4.1:3-13
Fetch 2.1:0-10 2.3:0-11 2.7:0-12 3.1:0-13 3.5:0-15 3.7:0-16 3.9:0-17 4.0:4-17 4.1:4-18
ListOffsets 2.1:0-4 2.2:0-5 2.8:0-6 3.0:0-7 3.5:0-8 3.9:0-9 4.0:1-10 4.2:1-11
Metadata 2.1:0-7 2.3:0-8 2.4:0-9 2.8:0-11 3.1:0-12 4.0:0-13
OffsetCommit 2.1:0-6 2.3:0-7 2.4:0-8 3.7:0-9 4.0:2-9 4.2:2-10
OffsetFetch 2.1:0-5 2.4:0-6 2.5:0-7 3.0:0-8 3.7:0-9 4.0:1-9 4.2:1-10
FindCoordinator 2.1:0-2 2.4:0-3 3.0:0-4 3.8:0-5 3.9:0-6
JoinGroup 2.1:0-3 2.2:0-4 2.3:0-5 2.4:0-6 2.5:0-7 3.2:0-9
Heartbeat 2.1:0-2 2.3:0-3 2.4:0-4
LeaveGroup 2.1:0-2 2.4:0-4 3.2:0-5
SyncGroup 2.1:0-2 2.3:0-3 2.4:0-4 2.5:0-5
DescribeGroups 2.1:0-2 2.3:0-3 2.4:0-5 4.0:0-6
ListGroups 2.1:0-2 2.4:0-3 2.6:0-4 3.8:0-5
SaslHandshake 2.1:0-1
ApiVersions 2.1:0-2 2.4:0-3 3.9:0-4
CreateTopics 2.1:0-3 2.4:0-5 2.7:0-6 2.8:0-7 4.0:2-7
DeleteTopics 2.1:0-3 2.4:0-4 2.7:0-5 2.8:0-6 4.0:1-6
DeleteRecords 2.1:0-1 2.6:0-2
InitProducerId 2.1:0-1 2.4:0-2 2.5:0-3 2.7:0-4 3.8:0-5
OffsetForLeaderEpoch 2.1:0-2 2.3:0-3 2.8:0-4 4.0:2-4
AddPartitionsToTxn 2.1:0-1 2.7:0-2 2.8:0-3 3.6:0-4 3.8:0-5
AddOffsetsToTxn 2.1:0-1 2.7:0-2 2.8:0-3 3.8:0-4
EndTxn 2.1:0-1 2.7:0-2 2.8:0-3 3.8:0-4 4.0:0-5
WriteTxnMarkers 2.1:0 2.8:0-1 4.0:1 4.2:1-2
TxnOffsetCommit 2.1:0-2 2.5:0-3 3.8:0-4 4.0:0-5
DescribeAcls 2.1:0-1 2.5:0-2 3.3:0-3 4.0:1-3
CreateAcls 2.1:0-1 2.5:0-2 3.3:0-3 4.0:1-3
DeleteAcls 2.1:0-1 2.5:0-2 3.3:0-3 4.0:1-3
DescribeConfigs 2.1:0-2 2.6:0-3 2.8:0-4 4.0:1-4
AlterConfigs 2.1:0-1 2.8:0-2
AlterReplicaLogDirs 2.1:0-1 2.8:0-2 4.0:1-2
DescribeLogDirs 2.1:0-1 2.6:0-2 3.2:0-3 3.3:0-4 4.0:1-4 4.3:1-5
SaslAuthenticate 2.1:0 2.2:0-1 2.5:0-2
CreatePartitions 2.1:0-1 2.5:0-2 2.7:0-3
CreateDelegationToken 2.1:0-1 2.4:0-2 3.3:none 3.6:0-3 4.0:1-3
RenewDelegationToken 2.1:0-1 2.5:0-2 3.3:none 3.6:0-2 4.0:1-2
ExpireDelegationToken 2.1:0-1 2.5:0-2 3.3:none 3.6:0-2 4.0:1-2
DescribeDelegationToken 2.1:0-1 2.5:0-2 3.3:none 3.6:0-3 4.0:1-3
DeleteGroups 2.1:0-1 2.4:0-2
ElectLeaders 2.2:0 2.4:0-2
IncrementalAlterConfigs 2.3:0 2.4:0-1
AlterPartitionReassignments 2.4:0 4.1:0-1
ListPartitionReassignments 2.4:0
OffsetDelete 2.4:0
DescribeClientQuotas 2.6:0 2.8:0-1
AlterClientQuotas 2.6:0 2.8:0-1
DescribeUserScramCredentials 2.7:0 3.3:none 3.5:0
AlterUserScramCredentials 2.7:0 3.3:none 3.5:0
DescribeQuorum 3.3:0-1 3.9:0-2
UpdateFeatures 2.7:0 3.3:0-1 4.0:0-2
DescribeCluster 2.8:0 3.7:0-1 4.0:0-2
DescribeProducers 2.8:0
UnregisterBroker 3.3:0
DescribeTransactions 3.0:0
ListTransactions 3.0:0 3.8:0-1 4.1:0-2
ConsumerGroupHeartbeat 3.7:0 4.0:0-1
ConsumerGroupDescribe 3.8:0 4.0:0-1
GetTelemetrySubscriptions 3.7:0
PushTelemetry 3.7:0
ListConfigResources 3.7:0 4.1:0-1
DescribeTopicPartitions 3.8:0
ShareGroupHeartbeat 4.1:1
ShareGroupDescribe 4.1:1
ShareFetch 4.1:1 4.2:1-2
ShareAcknowledge 4.1:1 4.2:1-2
AddRaftVoter 3.9:0 4.2:0-1
RemoveRaftVoter 3.9:0
InitializeShareGroupState 4.1:0
ReadShareGroupState 4.1:0
WriteShareGroupState 4.1:0 4.2:0-1
DeleteShareGroupState 4.1:0
ReadShareGroupStateSummary 4.1:0 4.2:0-1
StreamsGroupHeartbeat 4.2:0
StreamsGroupDescribe 4.2:0
DescribeShareGroupOffsets 4.1:0 4.2:0-1
AlterShareGroupOffsets 4.1:0
DeleteShareGroupOffsets 4.1:0
"""


WITH_KRAFT = frozenset(
    (
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.REMOVE_RAFT_VOTER,
    )
)
"""APIs that brokers with ZooKeeper do not have, in any release."""


@cache
def versions_of(release: str) -> Mapping[ApiKey, VersionRange]:
    """Return the versions that a release serves; raise ``ValueError`` for an unknown release."""
    if release not in RELEASES:
        raise ValueError(
            f"no release {release!r} of Kafka is known; these are: {', '.join(RELEASES)}"
        )
    served = ((key, _latest(changes, release)) for key, changes in _changes())
    return {key: versions for key, versions in served if not versions.is_empty}


def first_with(api_key: ApiKey, versions: VersionRange) -> str | None:
    """Return the first release that serves one of these versions, None if no release does."""
    return next(
        (
            release
            for release in RELEASES
            if not (versions_of(release).get(api_key, NO_VERSIONS) & versions).is_empty
        ),
        None,
    )


def _changes() -> Iterator[tuple[ApiKey, list[str]]]:
    keys = {key.api_name: key for key in ApiKey}
    for line in _CHANGES.strip().splitlines():
        name, *changes = line.split()
        yield keys[name], changes


def _latest(changes: list[str], release: str) -> VersionRange:
    change = latest_change(changes, release)
    return NO_VERSIONS if change is None else VersionRange.parse(change)


def latest_change(changes: list[str], release: str) -> str | None:
    """Return what follows the colon in the last change that the release has, None before all."""
    latest = None
    for change in changes:
        since, _, text = change.partition(":")
        if RELEASES.index(since) > RELEASES.index(release):
            break
        latest = text
    return latest
