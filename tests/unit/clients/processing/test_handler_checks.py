"""What is a mistake for every record is refused before the first one is handled."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients.errors import InvalidTopicError, StateError
from pyk.clients.processing.handler_checks import (
    check_dead_letter,
    check_handler,
    check_nothing_returned,
    check_seconds,
)


def nothing() -> None: ...
def one(record: Any) -> None: ...
def two(record: Any, error: Any) -> None: ...
def one_of_two(record: Any, tries: int = 1) -> None: ...
def by_name(*, record: Any) -> None: ...
async def awaited(record: Any) -> None: ...
def generator(record: Any) -> Any:
    yield record


async def async_generator(record: Any) -> Any:
    yield record


class Handler:
    def __call__(self, record: Any) -> None: ...


ALLOWED: list[Any] = [one, one_of_two, awaited, Handler(), print, dict, [].append, lambda record: 1]


@pytest.mark.parametrize("handler", ALLOWED)
@pytest.mark.parametrize("returns", [False, True])
def test_a_function_of_a_record_is_a_handler(handler: Any, returns: bool) -> None:
    check_handler(handler, is_batch=False, returns=returns)


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        (None, "handler must be callable, not NoneType"),
        ("one", "handler must be callable, not str"),
        (nothing, r"handler is called as handler\(record\): too many positional arguments"),
        (two, r"handler is called as handler\(record\): missing a required argument: 'error'"),
        (by_name, r"handler is called as handler\(record\): too many positional arguments"),
        (generator, "handler must not be a generator function: nobody would iterate"),
        (async_generator, "handler must not be an async generator function"),
    ],
)
def test_another_handler_is_refused_with_what_it_must_be(handler: Any, words: str) -> None:
    with pytest.raises(TypeError, match=f"^{words}"):
        check_handler(handler, is_batch=False, returns=False)


def test_the_handler_of_a_batch_is_called_with_records() -> None:
    with pytest.raises(TypeError, match=r"^handler is called as handler\(records\): missing"):
        check_handler(two, is_batch=True, returns=False)


def test_a_generator_may_yield_the_results_for_a_producer() -> None:
    check_handler(generator, is_batch=False, returns=True)

    with pytest.raises(TypeError, match="return the results as a list"):
        check_handler(async_generator, is_batch=False, returns=True)


@pytest.mark.parametrize("dead_letter", [None, "orders.dead", two, print])
def test_dead_letters_are_a_topic_or_a_function(dead_letter: Any) -> None:
    check_dead_letter(dead_letter)


@pytest.mark.parametrize(
    ("dead_letter", "error", "words"),
    [
        (3, TypeError, "dead_letter must be the name of a topic, or callable"),
        ("bad name", InvalidTopicError, "'bad name' is not a valid topic name"),
        (one, TypeError, r"dead_letter is called as dead_letter\(record, error\): too many"),
        ("retry.1m", ValueError, "dead_letter must not be one of the retry topics, 'retry.1m'"),
        (generator, TypeError, "dead_letter must not be a generator function"),
        (async_generator, TypeError, "dead_letter must not be a generator function"),
    ],
)
def test_other_dead_letters_are_refused(
    dead_letter: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        check_dead_letter(dead_letter, {"retry.1m": 60.0})


@pytest.mark.parametrize("deadline", [None, 1, 0.5])
def test_a_deadline_is_a_number_of_seconds(deadline: Any) -> None:
    check_seconds(deadline)


@pytest.mark.parametrize(
    ("deadline", "error"),
    [
        ("5s", TypeError),
        (True, TypeError),
        (0, ValueError),
        (-1, ValueError),
        (float("nan"), ValueError),
        (float("inf"), ValueError),
    ],
)
def test_another_deadline_is_refused(deadline: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="deadline must be a number of seconds"):
        check_seconds(deadline)


def test_what_nobody_writes_must_not_be_returned() -> None:
    check_nothing_returned(None)

    with pytest.raises(StateError, match=r"must return None, not list; .* process.…, producer=…."):
        check_nothing_returned([])
