"""The requests of a transaction, and the error codes in their answers. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from pyk.clients.errors import (
    InvalidTransactionTimeoutError,
    InvalidTxnStateError,
    KafkaError,
    ProducerFencedError,
    error_for,
)
from pyk.clients.producer.sending.sequences import ProducerIdentity
from pyk.clients.producer.transactions.meanings import Meaning, TransactionRequest, meaning_of_code
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition, by_topic
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from pyk.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from pyk.protocol.messages.end_txn import EndTxnRequest
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest
from pyk.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from pyk.protocol.schema import Message
from pyk.protocol.versions import LAST_VERSION, VersionRange
from pyk.runtime import slotted

_FENCED = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED)


class GroupMetadata(Protocol):
    """The consumer's place in its group, as ``Consumer.group_metadata()`` returns it."""

    @property
    def group_id(self) -> str: ...
    @property
    def generation_id(self) -> int: ...
    @property
    def member_id(self) -> str: ...
    @property
    def group_instance_id(self) -> str | None: ...


@slotted.frozen
class CodeAt:
    """An error code of an answer, and what it is about."""

    code: ErrorCode
    topic: str | None = None
    partition: int | None = None


@slotted.frozen(kw_only=True)
class CoordinatorCall:
    """A request to the coordinator of a transactional id, or to that of a group."""

    request: TransactionRequest
    message: Message
    transactional_id: str
    group_id: str | None = None
    """The group whose coordinator is asked, None for the transaction's."""
    versions: VersionRange
    codes: Callable[[Any], Iterable[CodeAt]]

    def judge(self, response: Any) -> tuple[Meaning, KafkaError | None]:
        """Return what follows from a response, and the error that it carries."""
        found = [(meaning_of_code(self.request, at.code), at) for at in self.codes(response)]
        meaning, at = max(found, key=lambda pair: pair[0].value, default=(Meaning.DONE, None))
        return meaning, None if meaning is Meaning.DONE or at is None else self.error(at)

    def error(self, at: CodeAt) -> KafkaError:
        """Return the error of a code."""
        if at.code in _FENCED:
            return ProducerFencedError(
                f"{self.request.value}: another producer with transactional_id "
                f"{self.transactional_id!r} has taken over, or the transaction took longer than "
                "its transaction_timeout_ms: close this producer"
            )
        if at.code is ErrorCode.INVALID_TXN_STATE and self.request is TransactionRequest.END:
            return InvalidTxnStateError(
                f"EndTxn: the transaction of {self.transactional_id!r} is not open any more; "
                "perhaps it took longer than its transaction_timeout_ms"
            )
        if at.code is ErrorCode.INVALID_TRANSACTION_TIMEOUT:
            timeout_ms = getattr(self.message, "transaction_timeout_ms", None)
            return InvalidTransactionTimeoutError(
                f"{self.request.value}: transaction_timeout_ms={timeout_ms} of "
                f"{self.transactional_id!r} is more than the brokers allow: lower it, or raise "
                "their transaction.max.timeout.ms"
            )
        error = error_for(
            at.code, topic=at.topic, partition=at.partition, api_key=self.message.api_key
        )
        error.group_id = self.group_id
        error.args = (f"{self.request.value}: {error.args[0]}{self._hint(at.code)}",)
        return error

    def _hint(self, code: ErrorCode) -> str:
        """Return what else may be the reason of an error that has several."""
        if not getattr(self.message, "enable2_pc", False):
            return ""
        if code is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            return (
                "; or two-phase commits are not allowed to the producer, or to anybody: "
                "transaction.two.phase.commit.enable of the brokers"
            )
        if code is ErrorCode.UNSUPPORTED_VERSION:
            return (
                "; keep_prepared_txn needs brokers that have it, as Apache Kafka 4.3 has not, and "
                "transaction.version 1 or 2"
            )
        return ""


def init_producer_id(
    transactional_id: str,
    timeout_ms: int,
    known: ProducerIdentity | None,
    *,
    has_two_phases: bool = False,
    keeps_prepared: bool = False,
) -> CoordinatorCall:
    """Ask for a producer id, or with a known one for its next epoch (KIP-360).

    The transaction that is open is aborted, unless the producer keeps it (KIP-939).
    """
    message = InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
        enable2_pc=has_two_phases,
        keep_prepared_txn=keeps_prepared,
    )
    lowest = 6 if has_two_phases else 0
    if known is not None:
        message.producer_id, message.producer_epoch = known.producer_id, known.epoch
        lowest = max(3, lowest)
    return CoordinatorCall(
        request=TransactionRequest.INIT_PRODUCER_ID,
        message=message,
        transactional_id=transactional_id,
        versions=VersionRange(lowest, LAST_VERSION),
        codes=_code_of_all,
    )


def add_partitions(
    transactional_id: str, identity: ProducerIdentity, partitions: Iterable[TopicPartition]
) -> CoordinatorCall:
    """Add partitions to a transaction of version 1."""
    topics = [
        AddPartitionsToTxnTopic(name=name, partitions=[one.partition for one in of_topic])
        for name, of_topic in by_topic(partitions).items()
    ]
    message = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=identity.producer_id,
        v3_and_below_producer_epoch=identity.epoch,
        v3_and_below_topics=topics,
    )

    def codes(response: Any) -> list[CodeAt]:
        return [
            CodeAt(ErrorCode(one.partition_error_code), topic.name, one.partition_index)
            for topic in response.results_by_topic_v3_and_below
            for one in topic.results_by_partition
        ]

    return CoordinatorCall(
        request=TransactionRequest.ADD_PARTITIONS,
        message=message,
        transactional_id=transactional_id,
        versions=VersionRange(0, 3),
        codes=codes,
    )


def add_offsets(
    transactional_id: str, identity: ProducerIdentity, group_id: str
) -> CoordinatorCall:
    """Add the offsets of a group to a transaction of version 1."""
    return CoordinatorCall(
        request=TransactionRequest.ADD_OFFSETS,
        message=AddOffsetsToTxnRequest(
            transactional_id=transactional_id,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            group_id=group_id,
        ),
        transactional_id=transactional_id,
        versions=VersionRange(0, LAST_VERSION),
        codes=_code_of_all,
    )


def commit_offsets(
    transactional_id: str,
    identity: ProducerIdentity,
    version: int,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    group: GroupMetadata,
) -> CoordinatorCall:
    """Give the group's coordinator offsets that count once the transaction commits (KIP-447)."""
    topics = [
        TxnOffsetCommitRequestTopic(
            name=name, partitions=[_offset(one, offsets[one]) for one in of_topic]
        )
        for name, of_topic in by_topic(offsets).items()
    ]
    message = TxnOffsetCommitRequest(
        transactional_id=transactional_id,
        group_id=group.group_id,
        producer_id=identity.producer_id,
        producer_epoch=identity.epoch,
        generation_id_or_member_epoch=group.generation_id,
        member_id=group.member_id,
        group_instance_id=group.group_instance_id,
        topics=topics,
    )
    return CoordinatorCall(
        request=TransactionRequest.COMMIT_OFFSETS,
        message=message,
        transactional_id=transactional_id,
        group_id=group.group_id,
        # Up to 2 the fields of the member are missing, so the group could not refuse a stale one.
        versions=VersionRange(3, 4) if version == 1 else VersionRange(5, 5),
        codes=_codes_of_offsets,
    )


def end_transaction(
    transactional_id: str, identity: ProducerIdentity, version: int, *, is_commit: bool
) -> CoordinatorCall:
    """Tell the coordinator how a transaction ends."""
    return CoordinatorCall(
        request=TransactionRequest.END,
        message=EndTxnRequest(
            transactional_id=transactional_id,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            committed=is_commit,
        ),
        transactional_id=transactional_id,
        versions=VersionRange(0, 4) if version == 1 else VersionRange(5, LAST_VERSION),
        codes=_code_of_all,
    )


def _offset(
    partition: TopicPartition, offset: OffsetAndMetadata
) -> TxnOffsetCommitRequestPartition:
    epoch = offset.leader_epoch
    return TxnOffsetCommitRequestPartition(
        partition_index=partition.partition,
        committed_offset=offset.offset,
        committed_leader_epoch=-1 if epoch is None else epoch,
        committed_metadata=offset.metadata,
    )


def _codes_of_offsets(response: Any) -> list[CodeAt]:
    return [
        CodeAt(ErrorCode(one.error_code), topic.name, one.partition_index)
        for topic in response.topics
        for one in topic.partitions
    ]


def _code_of_all(response: Any) -> list[CodeAt]:
    return [CodeAt(ErrorCode(response.error_code))]
