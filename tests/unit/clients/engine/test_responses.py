"""The results of a node are compared with its questions."""

from __future__ import annotations

import pytest

from pyk.clients.engine.responses import result_for_each, without_errors
from pyk.clients.errors import MalformedResponseError, StateError


def test_missing_items_are_errors_and_unrequested_ones_are_dropped() -> None:
    results = result_for_each(["a", "b", "c"], {"d": 4, "b": None, "a": 1}, node_id=7)

    assert list(results) == ["a", "b", "c"]
    assert (results["a"], results["b"]) == (1, None)
    error = results["c"]
    assert isinstance(error, MalformedResponseError)
    assert str(error) == "node 7 left out 'c'"
    assert error.retriable


def test_the_first_error_among_answers_is_raised() -> None:
    first = StateError("first")

    assert without_errors({"a": 1, "b": None}) == {"a": 1, "b": None}
    with pytest.raises(StateError) as caught:
        without_errors({"a": 1, "b": first, "c": StateError("second")})
    assert caught.value is first
