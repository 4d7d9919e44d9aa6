"""What has become of each item of a call: done, failed, or to be asked for again."""

from __future__ import annotations

import pytest

from pyk.clients.admin.settling import Settlement
from pyk.clients.errors import (
    KafkaError,
    NodeDisconnectedError,
    UnknownTopicOrPartitionError,
    error_for,
)


class Patient:
    """A route that retries every retriable error."""

    def may_pass(self, error: KafkaError) -> bool:
        return error.retriable


def settlement(*items: str, already_done: type[KafkaError] | None = None) -> Settlement:
    return Settlement(Patient(), list(items), already_done)  # type: ignore[arg-type]


def test_an_item_is_pending_until_it_has_a_result_or_a_lasting_error() -> None:
    state = settlement("a", "b", "c")

    again = state.take({"a": 1, "b": error_for(41), "c": error_for(36)})

    assert set(again) == {"b"}
    assert state.pending == ["b"]
    assert state.results == {"a": 1}
    assert set(state.errors) == {"c"}


@pytest.mark.parametrize(
    ("first", "is_done"),
    [(NodeDisconnectedError("lost"), True), (error_for(41), False)],
    ids=["after a lost answer", "after a certain failure"],
)
def test_already_done_counts_as_success_only_after_a_lost_response(
    first: KafkaError, is_done: bool
) -> None:
    state = settlement("a", already_done=UnknownTopicOrPartitionError)
    state.route.may_pass = lambda error: error is first  # type: ignore[method-assign]
    state.take({"a": first})

    state.take({"a": error_for(3)})

    assert ("a" in state.results) is is_done


def test_the_outcome_of_nothing_is_nothing() -> None:
    assert settlement().outcome() == {}
