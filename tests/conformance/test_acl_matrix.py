"""The answers of Apache Kafka to the ACL matrix are those that are kept for the other tests."""

from __future__ import annotations

import asyncio

import pytest

from support import apache_kafka
from support.acl_matrix import brokers
from support.acl_matrix.answers import differences
from support.acl_matrix.golden import kept_answers
from support.acl_matrix.running import answers_of

pytestmark = pytest.mark.conformance


def test_apache_kafka_answers_as_it_is_written_down() -> None:
    if why := apache_kafka.missing():
        pytest.skip(why)
    with brokers.apache_kafka() as kafka:
        found = asyncio.run(answers_of(kafka.sasl_bootstrap))

    assert sum(map(len, found.values())) > 10_000
    assert differences(kept_answers(), found) == {}
