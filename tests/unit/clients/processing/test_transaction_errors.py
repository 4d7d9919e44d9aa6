"""Which transactions of ``process()`` are written again after they have failed."""

from __future__ import annotations

import pytest

from pyk.clients.errors import (
    CommitFailedError,
    KafkaError,
    KafkaTimeoutError,
    ProducerFencedError,
    StateError,
    TransactionAbortableError,
    TransactionAbortedError,
    error_for,
)
from pyk.clients.processing.transactions import may_pass
from pyk.protocol.errors import ErrorCode


def caused(error: KafkaError, cause: BaseException | None) -> KafkaError:
    error.__cause__ = cause
    return error


def code(number: ErrorCode) -> KafkaError:
    return error_for(number, topic="bills", partition=0)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (CommitFailedError("the group has rebalanced"), True),
        (code(ErrorCode.NOT_LEADER_OR_FOLLOWER), True),
        (code(ErrorCode.CORRUPT_MESSAGE), True),
        (code(ErrorCode.INVALID_REQUEST), False),
        (ProducerFencedError("another producer"), False),
        (StateError("no transaction is open"), False),
        (caused(TransactionAbortedError("x"), None), True),
        (caused(TransactionAbortedError("x"), StateError("the producer is closed")), False),
        (caused(TransactionAbortableError("x"), code(ErrorCode.UNKNOWN_MEMBER_ID)), True),
        (caused(TransactionAbortableError("x"), code(ErrorCode.GROUP_AUTHORIZATION_FAILED)), False),
        (caused(TransactionAbortableError("x"), code(ErrorCode.OFFSET_METADATA_TOO_LARGE)), False),
        (caused(TransactionAbortableError("x"), code(ErrorCode.TOPIC_AUTHORIZATION_FAILED)), False),
        (KafkaTimeoutError("no metadata", topic="bills"), True),
        (
            caused(
                KafkaTimeoutError("no metadata", topic="bills"),
                code(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            ),
            False,
        ),
    ],
)
def test_a_transaction_is_written_again_if_that_may_succeed(error, expected):
    assert may_pass(error) is expected
