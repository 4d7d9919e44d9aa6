"""The two base classes of the clients' errors."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, TypeVar

from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode


class KafkaError(Exception):
    """Anything that went wrong between an application and Kafka.

    The facts below are fixed per class. ``definite`` alone may be given per error, because the same
    failure can be certain or not: a request that never left is one that surely was not applied.
    """

    code: int | None = None
    """Kafka's error code, None for an error that the client found by itself."""
    retriable: bool = False
    """The same call may succeed later, without any change by the caller."""
    fatal: bool = False
    """This client can do nothing more: close it and make a new one."""
    txn_requires_abort: bool = False
    """Inside a transaction: it cannot be committed any more, abort it and go on."""
    definite: bool = True
    """True if the request was certainly not applied. False if it may have been applied."""

    def __init__(
        self,
        message: str = "",
        *,
        topic: str | None = None,
        partition: int | None = None,
        offset: int | None = None,
        group_id: str | None = None,
        node_id: int | None = None,
        definite: bool | None = None,
    ) -> None:
        # Only the message is positional: pickle makes an error again from args and __dict__.
        super().__init__(message)
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.group_id = group_id
        self.node_id = node_id
        if definite is not None:
            self.definite = definite

    @property
    def topic_partition(self) -> TopicPartition | None:
        """The partition that the error concerns, None if it concerns no partition."""
        if self.topic is None or self.partition is None:
            return None
        return TopicPartition(self.topic, self.partition)

    def __str__(self) -> str:
        where = ", ".join(self._where())
        return f"{self.args[0]} ({where})" if where else str(self.args[0])

    def _where(self) -> list[str]:
        """Return the topic, partition and node, as far as the message does not name them."""
        is_bootstrap_server = self.node_id is not None and self.node_id < 0
        places = {
            "topic": self.topic,
            "partition": self.partition,
            "offset": self.offset,
            "group": self.group_id,
            "node": None if is_bootstrap_server else self.node_id,
        }
        text = self.args[0]
        return [
            f"{what} {name!r}"
            for what, name in places.items()
            if name is not None
            and (repr(name) if isinstance(name, str) else f"{what} {name}") not in text
        ]


class KafkaTimeoutError(KafkaError, TimeoutError):
    """The call did not finish within its timeout; its request may still be applied."""

    retriable = True
    definite = False


class BrokerError(KafkaError):
    """An error that a broker returned: one class per Kafka error code.

    Whether a code is retriable is decided by the table of :mod:`pyk.protocol.errors`.
    """

    code: int

    by_code: ClassVar[dict[int, type[BrokerError]]] = {}

    def __init_subclass__(cls, *, code: ErrorCode | None = None, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if code is None:
            return  # a group of errors, or a client's own form of one
        cls.code = code
        cls.retriable = code.retriable
        cls.fatal = code in FATAL
        cls.txn_requires_abort = not (cls.retriable or cls.fatal)
        cls.definite = code not in INDEFINITE
        BrokerError.by_code[code] = cls


E = TypeVar("E", bound=KafkaError)


def copy_to_raise(error: E) -> E:
    """Return a copy of an error that several callers get.

    One object that is raised in several places would gather all their tracebacks.
    """
    copied = copy.copy(error)
    copied.__cause__ = error.__cause__
    return copied


# Errors that end a client: a newer one of the same identity, or a cluster that refuses it.
FATAL = frozenset(
    {
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.ILLEGAL_SASL_STATE,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.SASL_AUTHENTICATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTION_COORDINATOR_FENCED,
        ErrorCode.UNSUPPORTED_SASL_MECHANISM,
    }
)

# After these a record may still be in the log, or come to be in it: a leader that steps down
# answers NOT_LEADER_OR_FOLLOWER also for what it had appended and its followers had fetched.
INDEFINITE = frozenset(
    {
        # A coordinator answers with these two also after it has written to its log: when replicas
        # are too late or too few, and when it has lost the lead of the partition.
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
