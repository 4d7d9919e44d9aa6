"""Compare the response of a node with what it was asked. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from pyk.clients.errors import KafkaError, MalformedResponseError

K = TypeVar("K")
A = TypeVar("A")


def result_for_each(
    asked: Iterable[K], results: Mapping[K, A], node_id: int
) -> dict[K, A | KafkaError]:
    """Return the result for each item of a request, an error for items that the node left out.

    Answers for other items are dropped.
    """
    return {
        one: results[one]
        if one in results
        else MalformedResponseError(f"node {node_id} left out {one!r}", node_id=node_id)
        for one in asked
    }


def without_errors(results: Mapping[K, A | KafkaError]) -> dict[K, A]:
    """Return the results, or raise the first error among them."""
    found: dict[K, A] = {}
    for one, result in results.items():
        if isinstance(result, KafkaError):
            raise result
        found[one] = result
    return found
