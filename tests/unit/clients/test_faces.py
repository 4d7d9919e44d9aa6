"""The blocking and the asyncio face of a client are called, and explained, in the same words."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from pyk.clients import (
    Admin,
    AsyncAdmin,
    AsyncConsumer,
    AsyncProducer,
    AsyncShareConsumer,
    Consumer,
    Producer,
    ShareConsumer,
)

TWINS: list[tuple[Any, Any]] = [
    (Admin, AsyncAdmin),
    (Consumer, AsyncConsumer),
    (Producer, AsyncProducer),
    (ShareConsumer, AsyncShareConsumer),
]

# What differs on purpose: the word of the blocking face, that of the other.
TWIN_WORDS = (
    ("Consumer", "AsyncConsumer"),
    ("ShareConsumer", "AsyncShareConsumer"),
    ("with", "async with"),
    ("for record in", "async for record in"),
    ("Iterator", "AsyncIterator"),
    ("thread", "task"),
)
# What each of the two says for itself.
OWN_SENTENCES = {
    "Consumer.close": (
        r"Any thread may close it; a second one waits for the first\.",
        r"Any task of the consumer's event loop may close it; on another loop it raises .*\.",
    ),
    "ShareConsumer.close": (
        r"Any thread may close it\.",
        r"Any task of the consumer's event loop may close it; on another loop it raises .*\.",
    ),
    "Producer.close": (r"The end of the program closes .* without closing\.", r"$"),
    "Producer.send": (r"$", r", which may be awaited too"),
}
# The paths of a record are compiled, and know the types of keys and values of one face only.
UNTYPED = {"Producer.send", "Producer.send_and_wait"}

Call = tuple[Any, Any, str]


def public_names(face: type[Any]) -> set[str]:
    return {name for name in dir(face) if not name.startswith("_")}


CALLS: list[Call] = [
    (blocking, awaited, name)
    for blocking, awaited in TWINS
    for name in sorted(public_names(blocking))
    if callable(getattr(blocking, name))
]


def id_of(call: Call) -> str:
    return f"{call[0].__name__}.{call[2]}"


def words_of(call: Any, own_sentence: str) -> str:
    """Return the docstring of a call on one line, with the words of the blocking face."""
    text = " ".join((inspect.getdoc(call) or "").split())
    if own_sentence:
        text, found = re.subn(own_sentence, "", text)
        assert found
    for blocking, awaited in TWIN_WORDS:
        text = re.sub(rf"\b{awaited}\b", blocking, text)
    return text.strip()


def arguments_of(call: Any, *, with_types: bool) -> list[inspect.Parameter]:
    """Return the parameters of a call, with the names of the blocking faces in their types."""
    parameters = inspect.signature(call).parameters.values()
    return [
        one.replace(annotation=re.sub(r"\bAsync", "", str(one.annotation)) if with_types else None)
        for one in parameters
    ]


@pytest.mark.parametrize(("blocking", "awaited"), TWINS)
def test_both_faces_have_the_same_calls(blocking: type[Any], awaited: type[Any]) -> None:
    assert public_names(blocking) == public_names(awaited)


@pytest.mark.parametrize("call", CALLS, ids=id_of)
def test_a_call_of_both_is_explained_in_the_same_words(call: Call) -> None:
    blocking, awaited, name = call
    own, own_of_twin = OWN_SENTENCES.get(id_of(call), ("", ""))
    words = words_of(getattr(blocking, name), own)

    assert words
    assert words == words_of(getattr(awaited, name), own_of_twin)


@pytest.mark.parametrize("call", CALLS, ids=id_of)
def test_a_call_of_both_takes_the_same_arguments(call: Call) -> None:
    blocking, awaited, name = call
    with_types = id_of(call) not in UNTYPED
    taken = arguments_of(getattr(blocking, name), with_types=with_types)

    assert taken == arguments_of(getattr(awaited, name), with_types=with_types)
