"""The blocking and the asyncio face of a client offer the same calls, in the same words."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from pyk.clients import Admin, AsyncAdmin, AsyncConsumer, AsyncProducer, Consumer, Producer

Method = tuple[Any, Any, str]

TWINS: list[tuple[Any, Any]] = [
    (Admin, AsyncAdmin),
    (Consumer, AsyncConsumer),
    (Producer, AsyncProducer),
]

# Where threads and tasks differ, the docstrings do, below their first paragraph.
WHERE_DOCUMENTATION_DIFFERS = {"Consumer.close", "Consumer.commit", "Producer.close"}
# The compiled path of a record documents it: what is awaited is not what is returned.
SENDS = {"Producer.send", "Producer.send_and_wait"}


def public_names(client: Any) -> set[str]:
    return {name for name in dir(client) if not name.startswith("_")}


METHODS: list[Method] = [
    (blocking, awaited, name)
    for blocking, awaited in TWINS
    for name in sorted(public_names(blocking) & public_names(awaited))
    if callable(getattr(blocking, name))
]


def id_of(method: Method) -> str:
    return f"{method[0].__name__}.{method[2]}"


def documentation(client: Any, name: str) -> str:
    return inspect.getdoc(getattr(client, name)) or ""


def parameters(client: Any, name: str, *, with_types: bool) -> list[tuple[object, ...]]:
    signature = inspect.signature(getattr(client, name))
    return [
        (one.name, one.kind, one.default, one.annotation if with_types else None)
        for one in signature.parameters.values()
    ]


@pytest.mark.parametrize(("blocking", "awaited"), TWINS)
def test_both_faces_offer_the_same_calls(blocking: Any, awaited: Any) -> None:
    assert public_names(blocking) == public_names(awaited)


@pytest.mark.parametrize("method", METHODS, ids=id_of)
def test_a_call_takes_the_same_arguments_on_both_faces(method: Method) -> None:
    blocking, awaited, name = method
    with_types = id_of(method) not in SENDS

    taken = parameters(blocking, name, with_types=with_types)

    assert taken == parameters(awaited, name, with_types=with_types)


@pytest.mark.parametrize("method", METHODS, ids=id_of)
def test_a_call_is_documented_in_the_same_words_on_both_faces(method: Method) -> None:
    blocking, awaited, name = method
    ours, theirs = documentation(blocking, name), documentation(awaited, name)
    if id_of(method) in WHERE_DOCUMENTATION_DIFFERS:
        ours, theirs = ours.partition("\n\n")[0], theirs.partition("\n\n")[0]

    assert ours
    if id_of(method) not in SENDS:
        assert ours == theirs
