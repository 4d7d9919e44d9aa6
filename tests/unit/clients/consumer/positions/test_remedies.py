"""What is tried for a partition that stands still, and in which order."""

from __future__ import annotations

import pytest

from pyk.clients.consumer.positions.remedies import Remedy, remedy_for, tells_after
from pyk.clients.errors import (
    KafkaError,
    KafkaStorageError,
    NodeDisconnectedError,
    NodeUnavailableError,
    RequestTimeoutError,
)

SESSION, CONNECTION, REJOIN, TELL = Remedy


@pytest.mark.parametrize(
    ("has_group", "remedies"),
    [
        (True, [SESSION, CONNECTION, REJOIN, TELL, TELL]),
        (False, [SESSION, CONNECTION, TELL, TELL, TELL]),
    ],
)
def test_each_stall_is_answered_with_more_until_the_application_is_told(has_group, remedies):
    assert [remedy_for(n, has_group=has_group) for n in range(1, 6)] == remedies


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (RequestTimeoutError("no answer"), 40),
        (NodeUnavailableError("refused to connect"), 40),
        (NodeDisconnectedError("ended"), 40),
        (KafkaStorageError("broken disk"), 10),
    ],
)
def test_an_outage_is_told_later_than_a_refusal(error: KafkaError, seconds: float) -> None:
    assert tells_after(error, 10) == seconds
