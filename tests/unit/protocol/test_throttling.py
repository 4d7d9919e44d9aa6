from __future__ import annotations

import pytest

from pyk.protocol import ApiKey, known_messages, response_class
from pyk.protocol.throttling import client_must_wait

# As Kafka's Java client has it in 3.9.2 and in 4.3.1: the first version of each API whose responses
# come before the broker stops to listen. After all others it does not wait.
FIRST_VERSIONS = {
    0: "AlterPartitionReassignments AlterUserScramCredentials BrokerHeartbeat BrokerRegistration "
    "DescribeTopicPartitions DescribeUserScramCredentials ElectLeaders IncrementalAlterConfigs "
    "ListPartitionReassignments OffsetDelete UnregisterBroker",
    1: "AddOffsetsToTxn AddPartitionsToTxn AlterConfigs AlterReplicaLogDirs CreateAcls "
    "CreateDelegationToken CreatePartitions DeleteAcls DeleteGroups DeleteRecords DescribeAcls "
    "DescribeDelegationToken DescribeLogDirs EndTxn ExpireDelegationToken InitProducerId "
    "RenewDelegationToken TxnOffsetCommit",
    2: "ApiVersions DeleteTopics DescribeConfigs DescribeGroups FindCoordinator Heartbeat "
    "LeaveGroup ListGroups SyncGroup",
    3: "CreateTopics JoinGroup ListOffsets",
    4: "OffsetCommit OffsetFetch",
    6: "Metadata Produce",
    8: "Fetch",
}
FIRST_VERSION = {api: first for first, apis in FIRST_VERSIONS.items() for api in apis.split()}


@pytest.mark.parametrize("key", ApiKey, ids=lambda key: key.api_name)
def test_a_client_waits_where_kafkas_own_does(key: ApiKey) -> None:
    first = FIRST_VERSION.get(key.api_name, key.versions.highest + 1)

    assert [version for version in key.versions if client_must_wait(key, version)] == [
        version for version in key.versions if version >= first
    ]


@pytest.mark.parametrize("api", FIRST_VERSION)
def test_a_response_to_wait_after_says_for_how_long(api: str) -> None:
    assert f"{api}Response" in known_messages()
    response = response_class(next(key for key in ApiKey if key.api_name == api))
    [throttle_time] = [field for field in response.fields if field.name == "throttle_time_ms"]

    assert FIRST_VERSION[api] in throttle_time.versions
