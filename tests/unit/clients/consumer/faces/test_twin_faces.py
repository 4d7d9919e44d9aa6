"""The blocking and the asyncio consumer are called, and explained, in the same words."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from pyk.clients import AsyncConsumer, Consumer

# What differs on purpose: the word of the blocking consumer, that of the other.
TWIN_WORDS = (
    ("Consumer", "AsyncConsumer"),
    ("with", "async with"),
    ("for record in", "async for record in"),
    ("Iterator", "AsyncIterator"),
    ("thread", "task"),
)
# What each of the two says for itself.
OWN_SENTENCES = {
    "close": (
        r"Any thread may close it\.",
        r"Any task of the consumer's event loop may close it; on another loop it raises .*\.",
    )
}


def calls_of(face: type[Any]) -> dict[str, Any]:
    """Return the public methods."""
    members = inspect.getmembers(face, callable)
    return {name: member for name, member in members if not name.startswith("_")}


CALLS = sorted(calls_of(Consumer))


def words_of(call: Any, own_sentence: str) -> str:
    """Return the docstring of a call on one line, with the words of the blocking consumer."""
    text = " ".join((inspect.getdoc(call) or "").split())
    if own_sentence:
        text, found = re.subn(own_sentence, "", text)
        assert found
    for blocking, awaited in TWIN_WORDS:
        text = re.sub(rf"\b{awaited}\b", blocking, text)
    return text.strip()


def test_both_have_the_same_calls() -> None:
    assert calls_of(AsyncConsumer).keys() == calls_of(Consumer).keys()


@pytest.mark.parametrize("name", CALLS)
def test_a_call_of_both_is_explained_in_the_same_words(name: str) -> None:
    own, own_of_twin = OWN_SENTENCES.get(name, ("", ""))
    words = words_of(getattr(Consumer, name), own)

    assert words
    assert words == words_of(getattr(AsyncConsumer, name), own_of_twin)


@pytest.mark.parametrize("name", CALLS)
def test_a_call_of_both_takes_the_same_arguments(name: str) -> None:
    blocking, awaited = (
        inspect.signature(calls_of(face)[name]) for face in (Consumer, AsyncConsumer)
    )

    assert list(blocking.parameters.values()) == list(awaited.parameters.values())
