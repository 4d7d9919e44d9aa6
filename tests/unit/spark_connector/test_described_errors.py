"""The text of errors at the driver of a query, with Kafka's name and number once."""

from __future__ import annotations

import pytest

from pyk.clients import KafkaError, UnknownTopicOrPartitionError
from pyk.clients.errors import error_for
from pyk.spark_connector.errors import describe_error


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (error_for(3, "gone", topic="a"), "UNKNOWN_TOPIC_OR_PARTITION (3): gone (topic 'a')"),
        (UnknownTopicOrPartitionError("gone"), "UNKNOWN_TOPIC_OR_PARTITION (3): gone"),
        (KafkaError("odd", topic="a", partition=1), "a-1: KafkaError: odd"),
    ],
)
def test_an_error_has_the_name_and_number_of_kafka_once(error: KafkaError, text: str) -> None:
    assert describe_error(error).startswith(text)
