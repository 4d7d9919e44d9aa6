"""Before the first batch of a transaction is appended: its coordinator must know of the partition.

Otherwise the transaction would end without a marker there, and hold back readers for ever. So the
leader asks the coordinator by AddPartitionsToTxn (KIP-890): whether the producer has added the
partition, or, for producers of transaction version 2, to add it now. Once a transaction is open in
the log it is not asked again.

A marker may be appended between the answer of the coordinator and the batch: the transaction that
was verified is over then. So a partition in which the producer got a marker meanwhile is verified
again. That happens for a short time only; then the producer has to come again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Protocol

from pyk.protocol.errors import ErrorCode
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.broker_channels import BrokerChannels
from pyk.reference_broker.broker_configs import BrokerConfigs
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.controller.names import TRANSACTION_STATE_TOPIC
from pyk.reference_broker.coordinator.shards import partition_for
from pyk.reference_broker.coordinator.transaction.records import by_topic
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.partition import Partition
from pyk.reference_broker.storage.expected_transactions import ExpectedTransaction
from pyk.reference_broker.waiting_requests import WaitingRequests
from pyk.runtime import slotted
from pyk.runtime.timers import Moment

if TYPE_CHECKING:
    from pyk.protocol.messages.add_partitions_to_txn import (
        AddPartitionsToTxnRequest,
        AddPartitionsToTxnResponse,
    )


class VerificationServices(Protocol):
    """The services that verification uses."""

    @property
    def image(self) -> MetadataImage: ...
    @property
    def configs(self) -> BrokerConfigs: ...
    @property
    def channels(self) -> BrokerChannels: ...
    @property
    def waiting(self) -> WaitingRequests: ...
    def moment(self) -> Moment: ...


class Verification(Enum):
    """What a producer expects, by the version of its request."""

    OLD = auto()
    """It knows no TRANSACTION_ABORTABLE: INVALID_TXN_STATE, which is fatal, says the same."""
    ABORTABLE = auto()
    ADD = auto()
    """The partition is added by being written to."""

    @classmethod
    def of_version(cls, version: int, first_abortable: int) -> Verification:
        """Return what a version expects; the one after ``first_abortable`` adds partitions."""
        if version > first_abortable:
            return cls.ADD
        return cls.ABORTABLE if version == first_abortable else cls.OLD


@slotted.frozen(kw_only=True)
class Unverified:
    """Partitions in which a producer (id and epoch) is about to open its transaction."""

    transactional_id: str
    producer: tuple[int, int]
    batches: Sequence[tuple[Partition, int]]
    """The partitions, and the base sequence of the batch for each."""
    verification: Verification

    def expect(self, time_ms: int) -> list[ExpectedTransaction | None]:
        """Note where the transaction is about to begin; None stands for where it has begun."""
        begins_at_zero = self.verification is Verification.ADD
        return [
            None
            if partition.has_open_transaction(*self.producer)
            else partition.expect_transaction(
                *self.producer, sequence, begins_at_zero=begins_at_zero, now_ms=time_ms
            )
            for partition, sequence in self.batches
        ]

    def ended(
        self, expected: Sequence[ExpectedTransaction | None]
    ) -> dict[TopicPartition, ErrorCode]:
        """Return the partitions with a marker since :meth:`expect`, as what the marker means."""
        return {
            partition.topic_partition: ErrorCode.CONCURRENT_TRANSACTIONS
            for (partition, _), before in zip(self.batches, expected, strict=True)
            if not partition.has_open_transaction(*self.producer)
            and (before is None or partition.expected_transaction(self.producer[0]) is not before)
        }


Refusals = Mapping[TopicPartition, ErrorCode]
"""Why partitions may not be written to; those that may are not in it."""


def needs_verification(
    services: VerificationServices,
    partition: Partition,
    producer: tuple[int, int],
    verification: Verification,
) -> bool:
    """Return whether the coordinator must be asked before a batch of a transaction is appended."""
    is_enabled = services.configs.broker.transaction_partition_verification_enable
    is_asked_for = is_enabled or verification is Verification.ADD
    return is_asked_for and not partition.has_open_transaction(*producer)


def verify(
    services: VerificationServices,
    unverified: Unverified,
    then: Callable[[Refusals], object],
    answer: Deferred[Any],
) -> None:
    """Call ``then`` with the refusals, in the same turn in which the partitions may be written.

    It completes ``answer``, which fails if that is not possible because of a bug.
    A producer that goes on at once often comes a moment before its last transaction is completed.
    Apache Kafka lets it wait for the whole backoff of 20 ms; here the waits grow to that, from 0.
    """
    config = services.configs.broker
    give_up_at = services.moment().after(config.add_partitions_to_txn_retry_backoff_max_ms)

    def ask(wait_ms: int = 0) -> None:
        expected = unverified.expect(services.moment().time_ms)
        _ask_coordinator(services, unverified).when_done(
            lambda codes: answered(codes, expected, wait_ms), answer
        )

    def answered(codes: Refusals, expected: list[ExpectedTransaction | None], wait_ms: int) -> None:
        moment = services.moment()
        is_add = unverified.verification is Verification.ADD
        is_early = is_add and ErrorCode.CONCURRENT_TRANSACTIONS in codes.values()
        ended = unverified.ended(expected)
        if (is_early or ended) and moment.now < give_up_at:
            wait_ms = min(wait_ms, config.add_partitions_to_txn_retry_backoff_ms)
            services.waiting.timers.schedule(
                Unique(), moment.after(wait_ms), lambda _: ask(max(1, 2 * wait_ms))
            )
        else:
            then({name: code for name, code in {**codes, **ended}.items() if code})

    ask()


class Unique:
    """A key that equals no other."""


def _ask_coordinator(services: VerificationServices, unverified: Unverified) -> Deferred[Refusals]:
    names = [partition.topic_partition for partition, _ in unverified.batches]
    leader = _coordinator_of(services.image, unverified.transactional_id)
    if leader is None:
        nobody: Deferred[Refusals] = Deferred()
        nobody.complete(dict.fromkeys(names, ErrorCode.COORDINATOR_NOT_AVAILABLE))
        return nobody
    response: Deferred[AddPartitionsToTxnResponse | ErrorCode] = services.channels.send(
        leader, _request(unverified, names)
    )
    return response.then(lambda found: _codes(found, names, unverified.verification))


def _coordinator_of(image: MetadataImage, transactional_id: str) -> int | None:
    topic = image.topics.get(TRANSACTION_STATE_TOPIC)
    if topic is None:
        return None
    return topic.partitions[partition_for(transactional_id, len(topic.partitions))].leader


def _request(unverified: Unverified, names: Sequence[TopicPartition]) -> AddPartitionsToTxnRequest:
    from pyk.protocol.messages.add_partitions_to_txn import (
        AddPartitionsToTxnRequest,
        AddPartitionsToTxnTopic,
        AddPartitionsToTxnTransaction,
    )

    producer_id, producer_epoch = unverified.producer
    transaction = AddPartitionsToTxnTransaction(
        transactional_id=unverified.transactional_id,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        verify_only=unverified.verification is not Verification.ADD,
        topics=[
            AddPartitionsToTxnTopic(name=topic, partitions=numbers)
            for topic, numbers in by_topic(frozenset(names)).items()
        ],
    )
    return AddPartitionsToTxnRequest(transactions=[transaction])


def _codes(
    response: AddPartitionsToTxnResponse | ErrorCode,
    names: Sequence[TopicPartition],
    verification: Verification,
) -> Refusals:
    if isinstance(response, ErrorCode):
        return dict.fromkeys(names, response)
    if response.error_code:
        return dict.fromkeys(names, ErrorCode(response.error_code))
    # A partition that is not in the answer is not known to the coordinator.
    codes = dict.fromkeys(names, ErrorCode.INVALID_TXN_STATE)
    for result in response.results_by_transaction:
        for topic in result.topic_results:
            for each in topic.results_by_partition:
                name = TopicPartition(topic.name, each.partition_index)
                codes[name] = _known(ErrorCode(each.partition_error_code), verification)
    return codes


def _known(code: ErrorCode, verification: Verification) -> ErrorCode:
    """Return the error under the code by which producers know it."""
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code is ErrorCode.TRANSACTION_ABORTABLE and verification is Verification.OLD:
        return ErrorCode.INVALID_TXN_STATE
    return code
