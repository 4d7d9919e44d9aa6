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
from pyk.protocol.errors import ErrorCode


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
    [
        (NodeDisconnectedError("lost"), True),
        (error_for(ErrorCode.NOT_COORDINATOR), True),
        (error_for(ErrorCode.COORDINATOR_NOT_AVAILABLE), True),
        (error_for(41), False),
    ],
    ids=["after a lost answer", "moved coordinator", "late replicas", "after a certain failure"],
)
def test_already_done_counts_as_success_only_after_a_lost_response(
    first: KafkaError, is_done: bool
) -> None:
    state = settlement("a", already_done=UnknownTopicOrPartitionError)
    state.route.may_pass = lambda error: error is first  # type: ignore[method-assign]
    state.take({"a": first})

    state.take({"a": error_for(3)})

    assert ("a" in state.results) is is_done


@pytest.mark.parametrize(
    ("first", "is_definite", "text"),
    [
        (NodeDisconnectedError("lost"), False, "an earlier attempt, whose outcome is unknown"),
        (error_for(41), True, "TOPIC_ALREADY_EXISTS"),
    ],
    ids=["after a lost answer", "after a certain failure"],
)
def test_a_change_that_fails_after_a_lost_response_says_that_it_may_be_done(
    first: KafkaError, is_definite: bool, text: str
) -> None:
    state = settlement("a")
    state.is_change = True
    state.take({"a": first})

    state.take({"a": error_for(36, "It is there.")})

    assert state.errors["a"].definite is is_definite
    assert text in str(state.errors["a"])
    assert ("may have done it" in str(state.errors["a"])) is not is_definite


def test_a_change_that_expires_after_a_lost_response_is_uncertain_whatever_came_last() -> None:
    state = settlement("a", "b")
    state.is_change = True
    state.take({"a": NodeDisconnectedError("lost"), "b": error_for(41)})

    state.expire(state.take({"a": error_for(41), "b": error_for(41)}))

    assert not state.errors["a"].definite
    assert "may have done it" in str(state.errors["a"])
    assert state.errors["b"].definite
    assert "done it" not in str(state.errors["b"])


def test_only_errors_of_changes_speak_of_what_may_be_done() -> None:
    state = settlement("a")

    state.expire(state.take({"a": NodeDisconnectedError("lost")}))

    assert not state.errors["a"].definite
    assert "may have" not in str(state.errors["a"])


def test_the_outcome_of_nothing_is_nothing() -> None:
    assert settlement().outcome() == {}
