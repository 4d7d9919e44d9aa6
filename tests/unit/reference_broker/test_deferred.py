from __future__ import annotations

from typing import Any

import pytest

from pyk.reference_broker.awaiting import value_of
from pyk.reference_broker.deferred import Deferred, gather
from pyk.runtime.virtual_time import virtual_time

BUG = ValueError("a bug")


def buggy(_: Any) -> Any:
    raise BUG


def failures(deferred: Deferred[Any]) -> list[Exception]:
    """Return a list that gets the error with which a deferred fails."""
    seen: list[Exception] = []
    deferred.when_failed(seen.append)
    return seen


def test_a_value_reaches_listeners_of_before_and_after() -> None:
    deferred: Deferred[int] = Deferred()
    seen: list[int] = []
    deferred.when_done(seen.append)

    assert deferred.complete(1)
    assert not deferred.complete(2)
    deferred.when_done(seen.append)

    assert seen == [1, 1]


def test_none_is_a_value() -> None:
    deferred: Deferred[None] = Deferred()
    seen: list[None] = []
    deferred.complete(None)

    deferred.when_done(seen.append)

    assert seen == [None]


def test_abandoning_calls_only_listeners_for_that() -> None:
    deferred: Deferred[int] = Deferred()
    told: list[Any] = []
    deferred.when_done(told.append)
    deferred.when_abandoned(lambda: told.append("abandoned"))

    deferred.abandon()
    deferred.abandon()

    assert told == ["abandoned"]
    assert not deferred.complete(1)


def test_abandoning_a_derived_value_abandons_its_source() -> None:
    deferred: Deferred[int] = Deferred()
    changed = deferred.then(str)

    changed.abandon()

    assert deferred.is_done


def test_then_changes_the_value() -> None:
    deferred: Deferred[int] = Deferred()
    seen: list[str] = []
    deferred.then(str).when_done(seen.append)

    deferred.complete(7)

    assert seen == ["7"]


def test_gather_keeps_the_order_whichever_comes_first() -> None:
    first: Deferred[int] = Deferred()
    second: Deferred[int] = Deferred()
    seen: list[list[int]] = []
    gather([first, second]).when_done(seen.append)
    gather([]).when_done(seen.append)

    second.complete(2)
    first.complete(1)

    assert seen == [[], [1, 2]]


def test_a_failure_reaches_those_who_listen_for_it_before_and_after() -> None:
    deferred: Deferred[int] = Deferred()
    values: list[int] = []
    deferred.when_done(values.append)
    before = failures(deferred)

    assert deferred.fail(BUG)
    assert not deferred.fail(ValueError("another"))
    assert not deferred.complete(1)

    assert (before, failures(deferred), values) == ([BUG], [BUG], [])
    assert deferred.is_done


def test_a_change_that_raises_fails_what_is_made_of_the_value(
    caplog: pytest.LogCaptureFixture,
) -> None:
    deferred: Deferred[int] = Deferred()
    changed = failures(deferred.then(buggy).then(str))
    others: list[int] = []
    deferred.when_done(others.append)

    deferred.complete(1)

    assert changed == failures(deferred.then(buggy)) == [BUG]
    assert others == [1]
    assert "An answer failed because of a bug in pyk" in caplog.text
    assert "ValueError: a bug" in caplog.text


def test_gathered_values_fail_with_the_first_that_fails() -> None:
    first, second = Deferred[int](), Deferred[int]()
    gathered = failures(gather([first, second]))

    second.fail(BUG)
    first.complete(1)

    assert gathered == [BUG]


def test_a_listener_that_raises_fails_the_answer_that_it_should_have_completed() -> None:
    deferred, answer, of_failed = Deferred[int](), Deferred[int](), Deferred[int]()
    deferred.when_done(buggy, answer)
    seen = failures(answer)

    deferred.complete(1)

    assert seen == [BUG]
    failed = Deferred[int]()
    failed.fail(BUG)
    failed.when_done(of_failed.complete, of_failed)
    assert failures(of_failed) == [BUG]


def test_a_listener_that_raises_does_not_keep_a_value_from_the_others() -> None:
    deferred: Deferred[int] = Deferred()
    seen: list[int] = []
    deferred.when_done(buggy)
    deferred.when_done(seen.append)

    with pytest.raises(ValueError, match="a bug"):
        deferred.complete(1)

    assert seen == [1]


@virtual_time
async def test_awaiting_a_failure_raises_it() -> None:
    deferred: Deferred[int] = Deferred()
    deferred.fail(BUG)

    with pytest.raises(ValueError, match="a bug"):
        await value_of(deferred)
