"""Errors of brokers about idempotent producers and transactions."""

from __future__ import annotations

from pyk.clients.errors.base import BrokerError, KafkaError
from pyk.protocol.errors import ErrorCode


class OutOfOrderSequenceNumberError(BrokerError, code=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
    """A batch before this one is missing in the partition."""


class DuplicateSequenceNumberError(BrokerError, code=ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
    """The batch was written before."""


class InvalidProducerEpochError(BrokerError, code=ErrorCode.INVALID_PRODUCER_EPOCH):
    """A newer producer has taken over, or the coordinator has raised the epoch."""


class InvalidTxnStateError(BrokerError, code=ErrorCode.INVALID_TXN_STATE):
    """The transaction is not in a state that allows this."""


class InvalidProducerIdMappingError(BrokerError, code=ErrorCode.INVALID_PRODUCER_ID_MAPPING):
    """The producer id does not belong to this transactional id any more."""


class InvalidTransactionTimeoutError(BrokerError, code=ErrorCode.INVALID_TRANSACTION_TIMEOUT):
    """``transaction.timeout.ms`` is larger than the broker's ``transaction.max.timeout.ms``."""


class ConcurrentTransactionsError(BrokerError, code=ErrorCode.CONCURRENT_TRANSACTIONS):
    """The previous transaction of this transactional id is still being finished."""


class TransactionCoordinatorFencedError(BrokerError, code=ErrorCode.TRANSACTION_COORDINATOR_FENCED):
    """The coordinator itself was replaced by a newer one."""


class UnknownProducerIdError(BrokerError, code=ErrorCode.UNKNOWN_PRODUCER_ID):
    """The partition knows nothing of this producer: its records there have expired."""


class ProducerFencedError(BrokerError, code=ErrorCode.PRODUCER_FENCED):
    """A newer producer of the same transactional id has taken over."""


class TransactionalIdNotFoundError(BrokerError, code=ErrorCode.TRANSACTIONAL_ID_NOT_FOUND):
    """There is no such transactional id."""


class TransactionAbortableError(BrokerError, code=ErrorCode.TRANSACTION_ABORTABLE):
    """The transaction must be aborted; its producer may go on."""

    @classmethod
    def because_of(cls, cause: KafkaError) -> TransactionAbortableError:
        """Return the error of a transaction that has lost a part; ``cause`` says why."""
        if isinstance(cause, cls):
            return cause
        error = cls(
            f"the transaction cannot be committed any more, abort it: {cause}",
            topic=cause.topic,
            partition=cause.partition,
            group_id=cause.group_id,
            node_id=cause.node_id,
        )
        error.__cause__ = cause
        return error
