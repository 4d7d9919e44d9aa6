"""Compare the response of a node with what it was asked. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from pyk.clients.errors import KafkaError, MalformedResponseError

K = TypeVar("K")
A = TypeVar("A")


def answer_for_each(
    asked: Iterable[K], answers: Mapping[K, A], node_id: int
) -> dict[K, A | KafkaError]:
    """Return the answer for each item of a request, an error for items that the node left out.

    Answers for other items are dropped.
    """
    return {
        one: answers[one]
        if one in answers
        else MalformedResponseError(f"node {node_id} left out {one!r}", node_id=node_id)
        for one in asked
    }


def without_errors(answers: Mapping[K, A | KafkaError]) -> dict[K, A]:
    """Return the answers, or raise the first error among them."""
    found: dict[K, A] = {}
    for one, answer in answers.items():
        if isinstance(answer, KafkaError):
            raise answer
        found[one] = answer
    return found
