"""For every API the response that refuses a whole request with one error code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.registry import response_class
from pyk.protocol.schema import Message

from .partitioned import SHAPES, error_partitions


def error_response(
    api_key: ApiKey, request: Any, code: ErrorCode, version: int | None = None
) -> Message:
    """Return the response to ``request`` that carries ``code`` wherever there is room for it.

    ``request`` is None if its body was not read; what it asked about is then left out. ``version``
    says which of two places for the code a response has; the request mostly says it too.
    """
    if request is not None and api_key in SHAPES and api_key not in _CODES_ARE_ABOVE_PARTITIONS:
        return error_partitions(api_key, request, code)
    response: Any = response_class(api_key)()
    if any(field.name == "error_code" for field in response.fields):
        response.error_code = (
            code if version is None or version >= _CODES_SINCE.get(api_key, 0) else 0
        )
    if version is not None and version >= _CODES_ARE_IN_ITEMS.get(api_key, version + 1):
        response.error_code = 0
    if request is not None and api_key in _ITEMS:
        _ITEMS[api_key](request, response, code)
    return cast(Message, response)


_CODES_SINCE = {ApiKey.ELECT_LEADERS: 1, ApiKey.DESCRIBE_LOG_DIRS: 3}
"""From which version on there is a code for the whole response."""

_CODES_ARE_IN_ITEMS = {ApiKey.FIND_COORDINATOR: 4, ApiKey.OFFSET_FETCH: 8}
"""From which version on only the groups that are asked about have error codes."""


_CODES_ARE_ABOVE_PARTITIONS = {
    ApiKey.OFFSET_DELETE,
    ApiKey.SHARE_ACKNOWLEDGE,
    ApiKey.SHARE_FETCH,
}
"""Have one code for the whole response, too, and no partitions beside it."""


def _metadata(request: Any, response: Any, code: ErrorCode) -> None:
    from pyk.protocol.messages.metadata import MetadataResponseTopic

    response.topics = [
        MetadataResponseTopic(name=topic.name or "", topic_id=topic.topic_id, error_code=code)
        for topic in request.topics or ()
    ]


def _describe_topic_partitions(request: Any, response: Any, code: ErrorCode) -> None:
    from pyk.protocol.messages.describe_topic_partitions import (
        DescribeTopicPartitionsResponseTopic,
    )

    response.topics = [
        DescribeTopicPartitionsResponseTopic(name=topic.name, error_code=code)
        for topic in request.topics
    ]


def _create_topics(request: Any, response: Any, code: ErrorCode) -> None:
    from pyk.protocol.messages.create_topics import CreatableTopicResult

    response.topics = [
        CreatableTopicResult(name=topic.name, error_code=code, error_message=None)
        for topic in request.topics
    ]


def _delete_topics(request: Any, response: Any, code: ErrorCode) -> None:
    from pyk.protocol.messages.delete_topics import DeletableTopicResult

    response.responses = [
        DeletableTopicResult(name=name, error_code=code) for name in request.topic_names
    ] + [
        DeletableTopicResult(name=topic.name, topic_id=topic.topic_id, error_code=code)
        for topic in request.topics
    ]


def _create_partitions(request: Any, response: Any, code: ErrorCode) -> None:
    from pyk.protocol.messages.create_partitions import CreatePartitionsTopicResult

    response.results = [
        CreatePartitionsTopicResult(name=topic.name, error_code=code) for topic in request.topics
    ]


def _configs(request: Any, response: Any, code: ErrorCode) -> None:
    [results] = (field for field in response.fields if field.name in {"results", "responses"})
    refused = [
        results.kind.of.struct(
            error_code=code,
            error_message=None,
            resource_type=each.resource_type,
            resource_name=each.resource_name,
        )
        for each in request.resources
    ]
    setattr(response, results.name, refused)


def _find_coordinator(request: Any, response: Any, code: ErrorCode) -> None:
    from pyk.protocol.messages.find_coordinator import Coordinator

    if response.error_code:
        response.node_id, response.port, response.error_message = -1, -1, None
        return
    response.coordinators = [
        Coordinator(key=key, node_id=-1, port=-1, error_code=code, error_message=None)
        for key in request.coordinator_keys
    ]


def _offset_fetch(request: Any, response: Any, code: ErrorCode) -> None:
    from pyk.protocol.messages.offset_fetch import OffsetFetchResponseGroup

    if not response.error_code:
        response.groups = [
            OffsetFetchResponseGroup(group_id=group.group_id, error_code=code)
            for group in request.groups
        ]


def _describe_groups(request: Any, response: Any, code: ErrorCode) -> None:
    from pyk.protocol.messages.describe_groups import DescribedGroup

    response.groups = [DescribedGroup(group_id=group, error_code=code) for group in request.groups]


def _consumer_group_describe(request: Any, response: Any, code: ErrorCode) -> None:
    from pyk.protocol.messages.consumer_group_describe import DescribedGroup

    response.groups = [
        DescribedGroup(group_id=group, error_code=code) for group in request.group_ids
    ]


def _share_group_describe(request: Any, response: Any, code: ErrorCode) -> None:
    from pyk.protocol.messages.share_group_describe import DescribedGroup

    response.groups = [
        DescribedGroup(group_id=group, error_code=code) for group in request.group_ids
    ]


def _streams_group_describe(request: Any, response: Any, code: ErrorCode) -> None:
    from pyk.protocol.messages.streams_group_describe import DescribedGroup

    response.groups = [
        DescribedGroup(group_id=group, error_code=code) for group in request.group_ids
    ]


def _describe_share_group_offsets(request: Any, response: Any, code: ErrorCode) -> None:
    from pyk.protocol.messages.describe_share_group_offsets import (
        DescribeShareGroupOffsetsResponseGroup,
    )

    response.groups = [
        DescribeShareGroupOffsetsResponseGroup(group_id=group.group_id, error_code=code)
        for group in request.groups
    ]


def _delete_groups(request: Any, response: Any, code: ErrorCode) -> None:
    from pyk.protocol.messages.delete_groups import DeletableGroupResult

    response.results = [
        DeletableGroupResult(group_id=group, error_code=code) for group in request.groups_names
    ]


def _join_group(request: Any, response: Any, code: ErrorCode) -> None:
    response.member_id, response.protocol_name = request.member_id, ""


def _add_partitions_to_txn(request: Any, response: Any, code: ErrorCode) -> None:
    from pyk.protocol.messages.add_partitions_to_txn import (
        AddPartitionsToTxnPartitionResult,
        AddPartitionsToTxnTopicResult,
    )

    # Versions with several transactions have one error code for all of them.
    response.results_by_topic_v3_and_below = [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(partition_index=number, partition_error_code=code)
                for number in topic.partitions
            ],
        )
        for topic in request.v3_and_below_topics
    ]


def _describe_transactions(request: Any, response: Any, code: ErrorCode) -> None:
    from pyk.protocol.messages.describe_transactions import TransactionState

    response.transaction_states = [
        TransactionState(transactional_id=each, error_code=code)
        for each in request.transactional_ids
    ]


def _describe_producers(request: Any, response: Any, code: ErrorCode) -> None:
    from pyk.protocol.messages.describe_producers import PartitionResponse, TopicResponse

    response.topics = [
        TopicResponse(
            name=topic.name,
            partitions=[
                PartitionResponse(partition_index=number, error_code=code)
                for number in topic.partition_indexes
            ],
        )
        for topic in request.topics
    ]


def _describe_user_scram_credentials(request: Any, response: Any, code: ErrorCode) -> None:
    from pyk.protocol.messages.describe_user_scram_credentials import (
        DescribeUserScramCredentialsResult,
    )

    response.results = [
        DescribeUserScramCredentialsResult(error_code=code) for _ in request.users or ()
    ]


def _create_acls(request: Any, response: Any, code: ErrorCode) -> None:
    from pyk.protocol.messages.create_acls import AclCreationResult

    response.results = [
        AclCreationResult(error_code=code, error_message=None) for _ in request.creations
    ]


def _elect_leaders(request: Any, response: Any, code: ErrorCode) -> None:
    from pyk.protocol.messages.elect_leaders import PartitionResult, ReplicaElectionResult

    response.replica_election_results = [
        ReplicaElectionResult(
            topic=topic.topic,
            partition_result=[
                PartitionResult(partition_id=number, error_code=code, error_message=None)
                for number in topic.partitions
            ],
        )
        for topic in request.topic_partitions or ()
    ]


def _alter_partition_reassignments(request: Any, response: Any, code: ErrorCode) -> None:
    from pyk.protocol.messages.alter_partition_reassignments import (
        ReassignablePartitionResponse,
        ReassignableTopicResponse,
    )

    response.error_message = None
    response.responses = [
        ReassignableTopicResponse(
            name=topic.name,
            partitions=[
                ReassignablePartitionResponse(
                    partition_index=each.partition_index, error_code=code, error_message=None
                )
                for each in topic.partitions
            ],
        )
        for topic in request.topics
    ]


def _alter_replica_log_dirs(request: Any, response: Any, code: ErrorCode) -> None:
    from pyk.protocol.messages.alter_replica_log_dirs import (
        AlterReplicaLogDirPartitionResult,
        AlterReplicaLogDirTopicResult,
    )

    response.results = [
        AlterReplicaLogDirTopicResult(
            topic_name=topic.name,
            partitions=[
                AlterReplicaLogDirPartitionResult(partition_index=number, error_code=code)
                for number in topic.partitions
            ],
        )
        for directory in request.dirs
        for topic in directory.topics
    ]


def _delete_acls(request: Any, response: Any, code: ErrorCode) -> None:
    from pyk.protocol.messages.delete_acls import DeleteAclsFilterResult

    response.filter_results = [
        DeleteAclsFilterResult(error_code=code, error_message=None) for _ in request.filters
    ]


def _alter_user_scram_credentials(request: Any, response: Any, code: ErrorCode) -> None:
    from pyk.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsResult

    users = dict.fromkeys(each.name for each in [*request.deletions, *request.upsertions])
    response.results = [
        AlterUserScramCredentialsResult(user=user, error_code=code, error_message=None)
        for user in users
    ]


def _alter_client_quotas(request: Any, response: Any, code: ErrorCode) -> None:
    from pyk.protocol.messages.alter_client_quotas import EntityData, ResponseEntryData

    response.entries = [
        ResponseEntryData(
            error_code=code,
            error_message=None,
            entity=[
                EntityData(entity_type=each.entity_type, entity_name=each.entity_name)
                for each in entry.entity
            ],
        )
        for entry in request.entries
    ]


def _describe_client_quotas(request: Any, response: Any, code: ErrorCode) -> None:
    response.entries = None


def _write_txn_markers(request: Any, response: Any, code: ErrorCode) -> None:
    from pyk.protocol.messages.write_txn_markers import (
        WritableTxnMarkerPartitionResult,
        WritableTxnMarkerResult,
        WritableTxnMarkerTopicResult,
    )

    response.markers = [
        WritableTxnMarkerResult(
            producer_id=marker.producer_id,
            topics=[
                WritableTxnMarkerTopicResult(
                    name=topic.name,
                    partitions=[
                        WritableTxnMarkerPartitionResult(partition_index=number, error_code=code)
                        for number in topic.partition_indexes
                    ],
                )
                for topic in marker.topics
            ],
        )
        for marker in request.markers
    ]


_ITEMS: dict[ApiKey, Callable[[Any, Any, ErrorCode], None]] = {
    ApiKey.METADATA: _metadata,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: _describe_topic_partitions,
    ApiKey.CREATE_TOPICS: _create_topics,
    ApiKey.DELETE_TOPICS: _delete_topics,
    ApiKey.CREATE_PARTITIONS: _create_partitions,
    ApiKey.DESCRIBE_CONFIGS: _configs,
    ApiKey.ALTER_CONFIGS: _configs,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _configs,
    ApiKey.FIND_COORDINATOR: _find_coordinator,
    ApiKey.OFFSET_FETCH: _offset_fetch,
    ApiKey.DESCRIBE_GROUPS: _describe_groups,
    ApiKey.CONSUMER_GROUP_DESCRIBE: _consumer_group_describe,
    ApiKey.SHARE_GROUP_DESCRIBE: _share_group_describe,
    ApiKey.STREAMS_GROUP_DESCRIBE: _streams_group_describe,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: _describe_share_group_offsets,
    ApiKey.DELETE_GROUPS: _delete_groups,
    ApiKey.JOIN_GROUP: _join_group,
    ApiKey.DESCRIBE_PRODUCERS: _describe_producers,
    ApiKey.ALTER_CLIENT_QUOTAS: _alter_client_quotas,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: _describe_client_quotas,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: _describe_user_scram_credentials,
    ApiKey.ELECT_LEADERS: _elect_leaders,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _alter_partition_reassignments,
    ApiKey.ALTER_REPLICA_LOG_DIRS: _alter_replica_log_dirs,
    ApiKey.CREATE_ACLS: _create_acls,
    ApiKey.DELETE_ACLS: _delete_acls,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _alter_user_scram_credentials,
    ApiKey.WRITE_TXN_MARKERS: _write_txn_markers,
    ApiKey.ADD_PARTITIONS_TO_TXN: _add_partitions_to_txn,
    ApiKey.DESCRIBE_TRANSACTIONS: _describe_transactions,
}
