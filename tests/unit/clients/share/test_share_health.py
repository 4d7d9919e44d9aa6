"""What the health of a share consumer says, in words."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients import TopicPartition
from pyk.clients.errors import KafkaError
from pyk.clients.share.share_health import (
    ShareConsumerHealth,
    SharePartitionHealth,
    SharePartitionState,
)

ORDERS = TopicPartition("orders", 0)
REFUSED = KafkaError("no")


def health(state: SharePartitionState | None = None, **options: Any) -> ShareConsumerHealth:
    """Return the health of a consumer that has nothing else to tell than these."""
    error = options.pop("error", None)
    partitions = {} if state is None else {ORDERS: SharePartitionHealth(state, error)}
    facts: dict[str, Any] = {
        "group_state": "stable",
        "group_error": None,
        "partitions": partitions,
        "acknowledgement_error": None,
    }
    return ShareConsumerHealth(**facts | options)


@pytest.mark.parametrize(
    ("found", "problems"),
    [
        (health(), ()),
        (health(SharePartitionState.FETCHING, error=REFUSED), ()),
        (health(SharePartitionState.BUFFERED), ()),
        (health(SharePartitionState.WITHOUT_LEADER), ("orders-0 has no known leader",)),
        (
            health(SharePartitionState.WITHOUT_LEADER, error=REFUSED),
            ("orders-0 has no known leader: no",),
        ),
        (
            health(SharePartitionState.FAILING, error=REFUSED),
            ("orders-0 fails and tries again: no",),
        ),
        (health(group_error=REFUSED), ("group: no",)),
        (health(acknowledgement_error=REFUSED), ("acknowledgements: no",)),
        (health(topics={"orders": REFUSED}), ("no",)),
        (health(unreachable_nodes=("node 2 is away",)), ("node 2 is away",)),
        (health(handlers=("a handler hangs",)), ("a handler hangs",)),
    ],
)
def test_each_problem_is_told_and_is_the_only_reason_not_to_be_healthy(found, problems):
    assert found.problems == problems
    assert found.is_healthy is (not problems)


def test_problems_are_told_from_the_group_down_to_handlers():
    found = health(
        SharePartitionState.FAILING,
        error=REFUSED,
        group_error=REFUSED,
        acknowledgement_error=REFUSED,
        topics={"bills": KafkaError("no bills")},
        unreachable_nodes=("node 2 is away",),
        handlers=("a handler hangs",),
    )

    assert found.problems == (
        "group: no",
        "no bills",
        "orders-0 fails and tries again: no",
        "acknowledgements: no",
        "node 2 is away",
        "a handler hangs",
    )
