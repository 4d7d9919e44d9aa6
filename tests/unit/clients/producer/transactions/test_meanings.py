"""The table of errors: what each means in the answer to each request of a transaction."""

from __future__ import annotations

import pytest

from pyk.clients.errors import (
    KafkaTimeoutError,
    NodeDisconnectedError,
    ProducerFencedError,
    StateError,
    UnsupportedVersionError,
)
from pyk.clients.producer.transactions.meanings import (
    Meaning,
    TransactionRequest,
    meaning_of_code,
    meaning_of_error,
    worst,
)
from pyk.protocol.errors import ErrorCode

RETRY, FIND = Meaning.RETRY, Meaning.FIND_COORDINATOR
ABORT, FAIL = Meaning.ABORT, Meaning.FAIL
NAMES = ("find", "init", "partitions", "offsets", "commit offsets", "end", "produce")

# One column for each member of TransactionRequest, in its order.
TABLE = {
    "COORDINATOR_NOT_AVAILABLE": (FIND, FIND, FIND, FIND, FIND, FIND, ABORT),
    "NOT_COORDINATOR": (FIND, FIND, FIND, FIND, FIND, FIND, ABORT),
    "COORDINATOR_LOAD_IN_PROGRESS": (RETRY, RETRY, RETRY, RETRY, RETRY, RETRY, ABORT),
    "CONCURRENT_TRANSACTIONS": (RETRY, RETRY, RETRY, RETRY, RETRY, RETRY, ABORT),
    "UNKNOWN_TOPIC_OR_PARTITION": (RETRY, RETRY, RETRY, RETRY, RETRY, RETRY, ABORT),
    "REQUEST_TIMED_OUT": (RETRY, RETRY, RETRY, RETRY, FIND, RETRY, ABORT),
    "TRANSACTION_ABORTABLE": (ABORT, FAIL, ABORT, ABORT, ABORT, ABORT, ABORT),
    "UNKNOWN_PRODUCER_ID": (FAIL, FAIL, ABORT, ABORT, FAIL, ABORT, ABORT),
    "OPERATION_NOT_ATTEMPTED": (FAIL, FAIL, RETRY, FAIL, FAIL, FAIL, ABORT),
    "TOPIC_AUTHORIZATION_FAILED": (FAIL, FAIL, ABORT, FAIL, ABORT, FAIL, ABORT),
    "GROUP_AUTHORIZATION_FAILED": (ABORT, FAIL, ABORT, ABORT, ABORT, FAIL, ABORT),
    "ILLEGAL_GENERATION": (FAIL, FAIL, ABORT, FAIL, ABORT, FAIL, ABORT),
    "UNKNOWN_MEMBER_ID": (FAIL, FAIL, ABORT, FAIL, ABORT, FAIL, ABORT),
    "FENCED_INSTANCE_ID": (FAIL, FAIL, ABORT, FAIL, ABORT, FAIL, ABORT),
    "STALE_MEMBER_EPOCH": (FAIL, FAIL, ABORT, FAIL, ABORT, FAIL, ABORT),
    "OFFSET_METADATA_TOO_LARGE": (FAIL, FAIL, ABORT, FAIL, ABORT, FAIL, ABORT),
    "INVALID_TXN_STATE": (FAIL, FAIL, FAIL, FAIL, FAIL, ABORT, ABORT),
    "INVALID_PRODUCER_EPOCH": (FAIL, FAIL, FAIL, FAIL, FAIL, FAIL, ABORT),
    "OUT_OF_ORDER_SEQUENCE_NUMBER": (FAIL, FAIL, ABORT, FAIL, FAIL, FAIL, ABORT),
    "PRODUCER_FENCED": (FAIL, FAIL, FAIL, FAIL, FAIL, FAIL, FAIL),
    "INVALID_PRODUCER_ID_MAPPING": (FAIL, FAIL, FAIL, FAIL, FAIL, FAIL, FAIL),
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": (FAIL, FAIL, FAIL, FAIL, FAIL, FAIL, FAIL),
    "CLUSTER_AUTHORIZATION_FAILED": (FAIL, FAIL, FAIL, FAIL, FAIL, FAIL, FAIL),
    "UNSUPPORTED_VERSION": (FAIL, FAIL, FAIL, FAIL, FAIL, FAIL, FAIL),
    "INVALID_TRANSACTION_TIMEOUT": (FAIL, FAIL, ABORT, FAIL, FAIL, FAIL, ABORT),
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": (FAIL, FAIL, ABORT, FAIL, FAIL, FAIL, ABORT),
}
CASES = [
    pytest.param(request, ErrorCode[code], meaning, id=f"{code}-{name}")
    for code, meanings in TABLE.items()
    for request, name, meaning in zip(TransactionRequest, NAMES, meanings, strict=True)
]


@pytest.mark.parametrize(("request_", "code", "meaning"), CASES)
def test_what_a_code_means(request_: TransactionRequest, code: ErrorCode, meaning: Meaning) -> None:
    assert meaning_of_code(request_, code) is meaning


@pytest.mark.parametrize("request_", TransactionRequest)
def test_no_error_means_done(request_: TransactionRequest) -> None:
    assert meaning_of_code(request_, ErrorCode.NONE) is Meaning.DONE


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (NodeDisconnectedError("gone"), FIND),
        (KafkaTimeoutError("late"), FIND),
        (ProducerFencedError("fenced"), FAIL),
        (UnsupportedVersionError("old"), FAIL),
        (StateError("a bug"), FAIL),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_request_without_an_answer_is_sent_to_the_coordinator_of_now(
    error: Exception, meaning: Meaning
) -> None:
    assert meaning_of_error(TransactionRequest.END, error) is meaning  # type: ignore[arg-type]


def test_a_batch_that_expired_costs_its_transaction() -> None:
    assert meaning_of_error(TransactionRequest.PRODUCE, KafkaTimeoutError("late")) is ABORT


def test_the_worst_of_several_meanings_counts() -> None:
    assert worst([Meaning.DONE, ABORT, RETRY]) is ABORT
    assert worst([]) is Meaning.DONE
