"""The state of a prepared transaction, and offsets that an application gives."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from pyk.clients import OffsetAndMetadata, PreparedTransaction, TopicPartition
from pyk.clients.producer.transactions.offsets import offsets_of

PREPARED = PreparedTransaction("billing", 7, 3, 2)
PLACE = TopicPartition("orders", 0)


def test_a_prepared_transaction_survives_json_and_pickle() -> None:
    assert PreparedTransaction.from_json(PREPARED.to_json()) == PREPARED
    assert pickle.loads(pickle.dumps(PREPARED)) == PREPARED


def test_the_version_of_the_protocol_does_not_make_it_another_transaction() -> None:
    assert PreparedTransaction("billing", 7, 3, 1) == PREPARED
    assert PreparedTransaction("billing", 7, 4, 2) != PREPARED


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"transactional_id": "a"}', "null"])
def test_a_text_that_is_not_a_prepared_transaction_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"prepared transaction|Expecting value"):
        PreparedTransaction.from_json(text)


def test_offsets_may_be_numbers_or_have_metadata() -> None:
    given: Any = {("orders", 0): 5, TopicPartition("orders", 1): OffsetAndMetadata(6, "note")}

    assert offsets_of(given) == {
        PLACE: OffsetAndMetadata(5),
        TopicPartition("orders", 1): OffsetAndMetadata(6, "note"),
    }


@pytest.mark.parametrize("given", [None, [PLACE], {PLACE: "5"}, {PLACE: True}, {"orders": 5}])
def test_other_offsets_are_refused(given: Any) -> None:
    with pytest.raises(TypeError):
        offsets_of(given)


def test_a_negative_offset_is_refused() -> None:
    with pytest.raises(ValueError, match="0 or more"):
        offsets_of({PLACE: -1})
