"""Validate what an application gives to ``process()``: before a record is handled, and once a
handler has returned. Pure.

What is a mistake for every record must end the call: as the failure of a handler, it would move one
record after the other to the dead letters.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from typing import Any

from pyk.clients.arguments import check_call, checked_seconds
from pyk.clients.engine.topic_names import checked_topics
from pyk.clients.errors import StateError


def check_handler(handler: Callable[[Any], Any], *, is_batch: bool, returns: bool) -> None:
    """Raise ``TypeError`` for a handler that could handle no record.

    ``returns`` says whether there is a producer for what it returns.
    """
    if not callable(handler):
        raise TypeError(f"handler must be callable, not {type(handler).__name__}")
    if inspect.isasyncgenfunction(handler):
        raise TypeError(
            "handler must not be an async generator function: nobody would iterate over what it "
            "yields; return the results as a list"
        )
    if inspect.isgeneratorfunction(handler) and not returns:
        raise TypeError(
            "handler must not be a generator function: nobody would iterate over what it yields; "
            "records that it returns are written by process(…, producer=…)"
        )
    check_call(handler, "handler", "records" if is_batch else "record")


def check_dead_letter(dead_letter: object, retry_topics: Collection[str] = ()) -> None:
    """Raise for what is neither the name of a topic nor a function of a record and an error."""
    if dead_letter is None:
        return
    if isinstance(dead_letter, str):
        checked_topics([dead_letter])
        if dead_letter in retry_topics:
            raise ValueError(
                f"dead_letter must not be one of the retry topics, {dead_letter!r}: records would "
                "come back for ever"
            )
    elif inspect.isgeneratorfunction(dead_letter) or inspect.isasyncgenfunction(dead_letter):
        raise TypeError(
            "dead_letter must not be a generator function: nothing of it would run, and the record "
            "would be lost"
        )
    elif callable(dead_letter):
        check_call(dead_letter, "dead_letter", "record", "error")
    else:
        raise TypeError("dead_letter must be the name of a topic, or callable")


def check_seconds(deadline: object) -> None:
    """Raise for what is not the number of seconds that a call of a handler may take."""
    if deadline is not None:
        checked_seconds(deadline, "deadline", above_zero=True)


def check_nothing_returned(returned: object) -> None:
    """Raise :class:`StateError` if a handler has returned something, and there is no producer."""
    if returned is not None:
        raise StateError(
            f"the handler must return None, not {type(returned).__name__}; records that it returns "
            "are written by process(…, producer=…) of a Consumer, and a coroutine function needs "
            "an asynchronous consumer"
        )
