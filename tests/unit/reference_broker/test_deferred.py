from __future__ import annotations

from typing import Any

from pyk.reference_broker.deferred import Deferred, gather


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
