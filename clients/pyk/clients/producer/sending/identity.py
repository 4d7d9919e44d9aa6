"""Policies for a producer's identity: its producer id, and what follows when brokers refuse it.
Pure.

A producer has one :class:`IdentityPolicy`. The sender asks it for everything about producer ids,
epochs and transactions:

1. **Who gets a producer id, and when.** :meth:`~IdentityPolicy.next_request` is what a broker has
   to be asked now, whatever request that is, with what takes its response.
2. **What may be sent.** A partition sends nothing before :meth:`~IdentityPolicy.begin_order` has
   let it begin an order, and again nothing once its ``must_restart`` is set, until that lets it
   begin the next one.
3. **What follows after an error.** :meth:`~IdentityPolicy.keeps_place` says whether a batch that a
   broker refused for its place in the order is sent again;
   :meth:`~IdentityPolicy.batch_failed` learns of each batch that was given up.
4. **What requests carry**: ``transactional_id``, beside the numbers that
   :class:`~pyk.clients.producer.sending.sequences.PartitionSequence` stamps on batches.

The policy of transactions is in :mod:`pyk.clients.producer.transactions.identity`: its epoch comes
from the coordinator and is one for all partitions, so none of them begins an order alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from pyk.clients.errors import MalformedResponseError, error_for
from pyk.clients.producer.batching.batch import ProducerBatch
from pyk.clients.producer.sending.outcome import BatchOutcome
from pyk.clients.producer.sending.partition_queue import PartitionQueue
from pyk.clients.producer.sending.sequences import ProducerIdentity
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from pyk.protocol.schema import Message
from pyk.runtime import slotted

NO_TRANSACTIONS_TIMEOUT_MS = (1 << 31) - 1


@slotted.frozen
class IdentityRequest:
    """A request that a policy wants a broker to answer."""

    purpose: str
    """The purpose of the request, as in "get a producer id"."""
    message: Message
    answered: Callable[[Any], None]
    """Takes the response; raises the error that it carries."""


class IdentityPolicy(Protocol):
    """Decides under which identity a producer writes. On the event loop only."""

    @property
    def numbers_batches(self) -> bool:
        """Whether batches carry a producer id, an epoch and a sequence number."""

    @property
    def transactional_id(self) -> str | None:
        """The transactional id of Produce requests, None outside of transactions."""

    def begin_order(self, queue: PartitionQueue) -> bool:
        """Let a partition begin an order of its batches; False while a broker must be asked first.

        None of the partition's batches is in flight or in doubt.
        """

    def keeps_place(
        self, queue: PartitionQueue, batch: ProducerBatch, outcome: BatchOutcome
    ) -> bool:
        """Return whether a batch that was refused as out of order or fenced is sent again."""

    def batch_failed(self, batch: ProducerBatch) -> None:
        """Learn that a batch was given up."""

    def topic_replaced(self, queue: PartitionQueue) -> None:
        """Learn that the topic of a partition that has begun an order was created again."""

    def next_request(self) -> IdentityRequest | None:
        """Return the next request to a broker, None if no request is needed."""


class NoIdentity:
    """The identity of a producer without idempotence: batches carry no numbers, brokers check no
    order."""

    numbers_batches = False
    transactional_id: str | None = None

    def begin_order(self, queue: PartitionQueue) -> bool:
        return True

    def keeps_place(
        self, queue: PartitionQueue, batch: ProducerBatch, outcome: BatchOutcome
    ) -> bool:
        return False

    def batch_failed(self, batch: ProducerBatch) -> None:
        """Do nothing: no other batch depends on it."""

    def topic_replaced(self, queue: PartitionQueue) -> None:
        """Do nothing: the new partition takes any record."""

    def next_request(self) -> IdentityRequest | None:
        return None


class IdempotentIdentity:
    """A producer id for the producer, and an epoch that each partition raises by itself.

    Brokers keep epochs per partition, so a partition that has to begin a new order raises its own
    epoch, and no other partition waits. Once no epoch is left, or a broker knows the id with a
    higher epoch, a new id is needed.
    """

    numbers_batches = True
    transactional_id: str | None = None

    def __init__(self) -> None:
        self._identity: ProducerIdentity | None = None

    def begin_order(self, queue: PartitionQueue) -> bool:
        identity, sequence = self._identity, queue.sequence
        if sequence.can_restart():
            sequence.restart()
        elif identity is not None and identity.producer_id != sequence.producer_id:
            sequence.start(identity)
        else:
            sequence.needs_new_producer_id = True
            return False
        return True

    def keeps_place(
        self, queue: PartitionQueue, batch: ProducerBatch, outcome: BatchOutcome
    ) -> bool:
        """Return whether a batch that was refused as out of order or fenced is sent again.

        1. Fenced: the batch can only begin a new order, with a new producer id.
        2. Out of order, and an older batch is unsettled: that one is the reason, and comes first.
        3. Out of order, and no older one is: the broker lacks what came before (a gap, or it lost
           what it had), or it does not remember the batch. The batch can only begin a new order.

        A batch that may have been written by an earlier attempt never begins a new order: it fails
        as unknown, and the one after it is sent again with the same bytes and sequence.
        """
        if outcome is BatchOutcome.FENCED:
            queue.must_restart = queue.sequence.needs_new_producer_id = True
        elif queue.unsettled[0] is not batch:
            return True
        elif not batch.may_be_written:
            queue.must_restart = True
        return not batch.may_be_written

    def batch_failed(self, batch: ProducerBatch) -> None:
        """Do nothing: the partition's queue knows of the gap."""

    def topic_replaced(self, queue: PartitionQueue) -> None:
        """Do nothing: a partition that does not know a producer takes any sequence of it."""

    def next_request(self) -> IdentityRequest | None:
        message = InitProducerIdRequest(
            transactional_id=None, transaction_timeout_ms=NO_TRANSACTIONS_TIMEOUT_MS
        )
        return IdentityRequest("get a producer id", message, self._answered)

    def _answered(self, response: InitProducerIdResponse) -> None:
        if response.error_code != ErrorCode.NONE:
            raise error_for(response.error_code, api_key=response.api_key)
        if response.producer_id < 0 or response.producer_epoch < 0:
            raise MalformedResponseError(
                f"a broker gave out producer id {response.producer_id}, "
                f"epoch {response.producer_epoch}, which is invalid"
            )
        self.received(ProducerIdentity(response.producer_id, response.producer_epoch))

    def received(self, identity: ProducerIdentity) -> None:
        """Let partitions that need a new producer id begin with this one."""
        self._identity = identity
