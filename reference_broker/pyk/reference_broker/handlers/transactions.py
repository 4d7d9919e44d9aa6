"""InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn: the life of a transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol, TypeVar

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from pyk.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from pyk.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.broker_configs import BrokerConfigs
from pyk.reference_broker.controller.names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from pyk.reference_broker.coordinator.decision import NOTHING, Decision
from pyk.reference_broker.coordinator.shards import partition_for
from pyk.reference_broker.coordinator.transaction.ending import End
from pyk.reference_broker.coordinator.transaction.initializing import (
    Initialization,
    ProducerIdNeededError,
)
from pyk.reference_broker.coordinator.transaction.shard import ProducerIdentity, TransactionShard
from pyk.reference_broker.deferred import Deferred, HandlerResult, gather
from pyk.reference_broker.producer_ids import ProducerIds
from pyk.runtime.timers import Moment

from .ask_shard import ShardServices, ask_shard
from .context import RequestContext

FIRST_VERSION_OF_ADD_IN_BATCHES = 4
FIRST_VERSION_OF_END_WITH_EPOCH = 5
"""A producer of these versions takes part in transactions of version 2 (KIP-890)."""
FIRST_VERSION_OF_INIT_WITH_FENCED = 4
FIRST_VERSION_WITH_FENCED = 2
NO_ID = -1
NO_EPOCH = -1

R = TypeVar("R")


class TransactionServices(ShardServices, Protocol):
    """The services that requests about transactions use."""

    @property
    def producer_ids(self) -> ProducerIds: ...
    @property
    def internal_topics(self) -> AbstractSet[str]: ...
    @property
    def configs(self) -> BrokerConfigs: ...


def init_producer_id(
    services: TransactionServices, request: InitProducerIdRequest, context: RequestContext
) -> HandlerResult:
    """Give a producer an id and an epoch: the next epoch of its transactional id, if it has one.

    Without one it gets a new id, also if it had an id already: nothing shows that it is the same
    producer, and a new id is as good as a new epoch (KIP-360).
    """
    if request.transactional_id is None:
        return services.producer_ids.next_id(
            lambda producer_id: InitProducerIdResponse(producer_id=producer_id, producer_epoch=0),
            lambda code: InitProducerIdResponse(error_code=code),
        )
    has_id, has_epoch = request.producer_id != NO_ID, request.producer_epoch != NO_EPOCH
    if not request.transactional_id or has_id != has_epoch:
        return InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST)
    asked = Initialization(
        transactional_id=request.transactional_id,
        timeout_ms=request.transaction_timeout_ms,
        expected=(request.producer_id, request.producer_epoch) if has_id else None,
        is_two_phase=request.enable2_pc,
        keeps_prepared=request.keep_prepared_txn,
    )
    return _ask_with_id(
        services,
        request.transactional_id,
        lambda shard, new_id, moment: shard.init_producer_id(asked, new_id, moment),
    ).then(lambda result: _initialized(result, context.version))


def _initialized(result: ProducerIdentity | ErrorCode, version: int) -> InitProducerIdResponse:
    if isinstance(result, ErrorCode):
        knows_fenced = version >= FIRST_VERSION_OF_INIT_WITH_FENCED
        return InitProducerIdResponse(error_code=_known(result, knows_fenced=knows_fenced))
    kept_id, kept_epoch = result.kept or (NO_ID, NO_EPOCH)
    return InitProducerIdResponse(
        producer_id=result.producer_id,
        producer_epoch=result.producer_epoch,
        ongoing_txn_producer_id=kept_id,
        ongoing_txn_producer_epoch=kept_epoch,
    )


def end_txn(
    services: TransactionServices, request: EndTxnRequest, context: RequestContext
) -> HandlerResult:
    """Commit or abort; from version 5 on return the identity for the next transaction."""
    if not request.transactional_id:
        return EndTxnResponse(error_code=ErrorCode.INVALID_REQUEST)
    gives_epoch = context.version >= FIRST_VERSION_OF_END_WITH_EPOCH
    asked = End(
        transactional_id=request.transactional_id,
        producer_id=request.producer_id,
        producer_epoch=request.producer_epoch,
        commit=request.committed,
        client_version=2 if gives_epoch else 0,
    )

    def respond(result: ProducerIdentity | ErrorCode) -> EndTxnResponse:
        if isinstance(result, ErrorCode):
            knows_fenced = context.version >= FIRST_VERSION_WITH_FENCED
            return EndTxnResponse(error_code=_known(result, knows_fenced=knows_fenced))
        if not gives_epoch:
            return EndTxnResponse()
        return EndTxnResponse(producer_id=result.producer_id, producer_epoch=result.producer_epoch)

    return _ask_with_id(
        services,
        request.transactional_id,
        lambda shard, new_id, moment: shard.end_transaction(asked, new_id, moment),
    ).then(respond)


def add_offsets_to_txn(
    services: TransactionServices, request: AddOffsetsToTxnRequest, context: RequestContext
) -> HandlerResult:
    """Add the partition that holds the offsets of a group."""
    if not request.transactional_id:
        return AddOffsetsToTxnResponse(error_code=ErrorCode.INVALID_REQUEST)
    topic = services.image.topics.get(GROUP_METADATA_TOPIC)
    # The topic may be created by the next request, which looks for the coordinator of the group.
    count = len(topic.partitions) if topic else services.configs.broker.offsets_topic_num_partitions
    number = partition_for(request.group_id, count)
    producer = (request.producer_id, request.producer_epoch)
    partitions = (TopicPartition(GROUP_METADATA_TOPIC, number),)
    knows_fenced = context.version >= FIRST_VERSION_WITH_FENCED
    return _add(services, request.transactional_id, producer, partitions, client_version=0).then(
        lambda code: AddOffsetsToTxnResponse(error_code=_known(code, knows_fenced=knows_fenced))
    )


def add_partitions_to_txn(
    services: TransactionServices, request: AddPartitionsToTxnRequest, context: RequestContext
) -> HandlerResult:
    """Add partitions to transactions, or say which are in them: those of each together."""
    if context.version >= FIRST_VERSION_OF_ADD_IN_BATCHES:
        results = [
            _add_or_verify(services, each, client_version=2) for each in request.transactions
        ]
        return gather(results).then(
            lambda found: AddPartitionsToTxnResponse(results_by_transaction=found)
        )
    single = AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )
    knows_fenced = context.version >= FIRST_VERSION_WITH_FENCED
    result = _add_or_verify(services, single, client_version=0, knows_fenced=knows_fenced)
    return result.then(
        lambda found: AddPartitionsToTxnResponse(results_by_topic_v3_and_below=found.topic_results)
    )


def _add_or_verify(
    services: TransactionServices,
    transaction: AddPartitionsToTxnTransaction,
    *,
    client_version: int,
    knows_fenced: bool = True,
) -> Deferred[AddPartitionsToTxnResult]:
    names = [
        TopicPartition(topic.name, number)
        for topic in transaction.topics
        for number in topic.partitions
    ]
    transactional_id = transaction.transactional_id
    producer = (transaction.producer_id, transaction.producer_epoch)
    refused = _refused(services, names, is_from_broker=client_version > 0)
    codes: Deferred[Mapping[TopicPartition, ErrorCode]] = Deferred()
    if refused or not transactional_id:
        codes.complete({n: refused.get(n, ErrorCode.OPERATION_NOT_ATTEMPTED) for n in names})
    elif transaction.verify_only:
        codes = _verify(services, transactional_id, producer, names)
    else:
        codes = _add(services, transactional_id, producer, names, client_version).then(
            lambda code: dict.fromkeys(names, _known(code, knows_fenced=knows_fenced))
        )
    return codes.then(lambda found: _result(transactional_id, transaction.topics, found))


def _refused(
    services: TransactionServices, names: Sequence[TopicPartition], *, is_from_broker: bool
) -> dict[TopicPartition, ErrorCode]:
    """Return the partitions that cannot be added: all of a transaction are added, or none.

    The only internal topic that transactions write to is the one of groups, and their coordinator
    adds it. A marker in any other would be of use to nobody.
    """
    closed = services.internal_topics - ({GROUP_METADATA_TOPIC} if is_from_broker else set())
    refused: dict[TopicPartition, ErrorCode] = {}
    for name in names:
        if name.topic in closed:
            refused[name] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        elif services.image.partition(name) is None:
            refused[name] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return refused


def _add(
    services: TransactionServices,
    transactional_id: str,
    producer: tuple[int, int],
    partitions: Sequence[TopicPartition],
    client_version: int,
) -> Deferred[ErrorCode]:
    return ask_shard(
        services,
        TRANSACTION_STATE_TOPIC,
        transactional_id,
        lambda shard, moment: shard.add_partitions(
            transactional_id, producer, partitions, client_version, moment
        ),
    )


def _verify(
    services: TransactionServices,
    transactional_id: str,
    producer: tuple[int, int],
    partitions: Sequence[TopicPartition],
) -> Deferred[Mapping[TopicPartition, ErrorCode]]:
    def handle(
        shard: TransactionShard, _: Moment
    ) -> tuple[Mapping[TopicPartition, ErrorCode], Decision]:
        return shard.verify_partitions(transactional_id, producer, partitions), NOTHING

    return ask_shard(services, TRANSACTION_STATE_TOPIC, transactional_id, handle).then(
        lambda codes: dict.fromkeys(partitions, codes) if isinstance(codes, ErrorCode) else codes
    )


def _result(
    transactional_id: str,
    topics: Sequence[AddPartitionsToTxnTopic],
    codes: Mapping[TopicPartition, ErrorCode],
) -> AddPartitionsToTxnResult:
    return AddPartitionsToTxnResult(
        transactional_id=transactional_id,
        topic_results=[
            AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=[
                    AddPartitionsToTxnPartitionResult(
                        partition_index=number,
                        partition_error_code=codes[TopicPartition(topic.name, number)],
                    )
                    for number in topic.partitions
                ],
            )
            for topic in topics
        ],
    )


def _known(code: ErrorCode, *, knows_fenced: bool) -> ErrorCode:
    """Return the error under the code that the version of the request has for it."""
    if code is ErrorCode.PRODUCER_FENCED and not knows_fenced:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code


def _ask_with_id(
    services: TransactionServices,
    transactional_id: str,
    handle: Callable[[TransactionShard, int | None, Moment], tuple[R, Decision]],
) -> Deferred[R | ErrorCode]:
    """Ask the shard of an id; where it needs a new producer id, fetch one and ask again."""

    def ask(new_producer_id: int | None) -> Deferred[R | ErrorCode]:
        return ask_shard(
            services,
            TRANSACTION_STATE_TOPIC,
            transactional_id,
            lambda shard, moment: handle(shard, new_producer_id, moment),
        )

    try:
        return ask(None)
    except ProducerIdNeededError:
        pass
    result: Deferred[R | ErrorCode] = Deferred()

    def use(found: int | ErrorCode) -> None:
        if isinstance(found, ErrorCode):
            # Retried by all clients, as what Kafka answers while it waits for a block of ids.
            result.complete(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        else:
            ask(found).when_done(result.complete, result)

    found = services.producer_ids.next_id(_same_id, _same_code)
    if isinstance(found, Deferred):
        found.when_done(use, result)
    else:
        use(found)
    return result


def _same_id(producer_id: int) -> int | ErrorCode:
    return producer_id


def _same_code(code: ErrorCode) -> int | ErrorCode:
    return code
