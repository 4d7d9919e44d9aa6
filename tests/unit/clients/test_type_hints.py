"""Tools can resolve the type hints of producers and consumers, whose parts are loaded on first
use."""

from __future__ import annotations

import inspect
from typing import Any, get_type_hints

import pytest

from pyk.clients import (
    AsyncConsumer,
    AsyncProducer,
    BatchDelivery,
    Consumer,
    ConsumerGroupMetadata,
    Producer,
)

HANDLED = ("process", "process_batches")
"""Their ``RetryPolicy`` is of another part, which most consumers do not load."""


@pytest.mark.parametrize("client", [Producer, AsyncProducer, Consumer, AsyncConsumer])
def test_the_type_hints_of_every_call_can_be_resolved(client: Any) -> None:
    calls = {
        name: one
        for name, one in inspect.getmembers(client, inspect.isfunction)
        if name[0] != "_" and name not in HANDLED
    }

    assert len(calls) > 10
    assert all(get_type_hints(call) for call in calls.values())


def test_the_type_hints_are_the_classes_that_users_import() -> None:
    group_metadata = get_type_hints(Consumer.group_metadata)["return"]

    assert get_type_hints(Producer.send_batch)["return"] is BatchDelivery
    assert group_metadata is ConsumerGroupMetadata
