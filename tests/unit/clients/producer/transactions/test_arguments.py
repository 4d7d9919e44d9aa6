"""What calls about transactions take: anything else is refused before a request is made."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients import OffsetAndMetadata, TopicPartition
from pyk.clients.config import ProducerConfig
from pyk.clients.errors import ConfigurationError, InvalidTransactionTimeoutError
from pyk.clients.offsets import ConsumerGroupMetadata
from pyk.clients.producer.transactions.meanings import Meaning
from pyk.clients.producer.transactions.offsets import checked_group, checked_prepared, offsets_of
from pyk.clients.producer.transactions.requests import init_producer_id
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.init_producer_id import InitProducerIdResponse

PLACE = TopicPartition("orders", 0)


@pytest.mark.parametrize("given", [None, "billing", {"group_id": "billing"}, ("billing", 3)])
def test_anything_but_the_metadata_of_a_group_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match=r"consumer\.group_metadata\(\)"):
        checked_group(given)


@pytest.mark.parametrize("group_id", ["", None])
def test_a_group_without_a_name_is_refused(group_id: Any) -> None:
    with pytest.raises(ValueError, match="group_id"):
        checked_group(ConsumerGroupMetadata(group_id))


@pytest.mark.parametrize("given", [None, "{}", {"producer_id": 7}])
def test_anything_but_a_prepared_transaction_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match=r"prepare_transaction\(\)"):
        checked_prepared(given)


@pytest.mark.parametrize("offset", [-1, 1 << 63])
def test_an_offset_that_no_log_has_is_refused(offset: int) -> None:
    with pytest.raises(ValueError, match="0 or more"):
        offsets_of({PLACE: offset})


def test_metadata_of_an_offset_that_is_no_str_is_refused() -> None:
    note: Any = b"note"
    with pytest.raises(TypeError, match="must be a str"):
        offsets_of({PLACE: OffsetAndMetadata(5, note)})


@pytest.mark.parametrize("timeout_ms", [0, -1, 1 << 31])
def test_a_transaction_timeout_that_no_request_can_carry_is_refused(timeout_ms: int) -> None:
    with pytest.raises(ConfigurationError, match="transaction_timeout_ms"):
        ProducerConfig.from_kwargs(
            "localhost:9092", transactional_id="billing", transaction_timeout_ms=timeout_ms
        )


def test_a_timeout_that_two_phases_would_ignore_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="two_phase_commit_enable"):
        ProducerConfig.from_kwargs(
            "localhost:9092",
            transactional_id="billing",
            transaction_timeout_ms=5000,
            transaction_two_phase_commit_enable=True,
        )


def test_a_timeout_that_the_brokers_refuse_names_their_limit_and_the_option() -> None:
    call = init_producer_id("billing", 1_000_000, None)
    response = InitProducerIdResponse(error_code=ErrorCode.INVALID_TRANSACTION_TIMEOUT)

    meaning, error = call.judge(response)

    assert meaning is Meaning.FAIL
    assert isinstance(error, InvalidTransactionTimeoutError)
    assert "transaction_timeout_ms=1000000" in str(error)
    assert "transaction.max.timeout.ms" in str(error)
