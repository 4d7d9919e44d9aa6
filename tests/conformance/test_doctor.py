"""``pyk doctor`` on three nodes of Apache Kafka, of which one dies."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients import Admin, NewTopic
from support import apache_kafka
from support.apache_kafka import ApacheKafkaCluster
from support.pyk_command import Ran, run
from support.real_time import eventually

pytestmark = pytest.mark.conformance


def doctor(kafka: ApacheKafkaCluster, *topics: str) -> Ran:
    named = [word for topic in topics for word in ("-t", topic)]
    first = kafka.bootstrap.split(",")[0]
    return run("doctor", "-b", first, *named, "--timeout", 5, "--json")


def findings(ran: Ran) -> list[Any]:
    return [one for one in ran.json if one["status"] != "ok"]


def test_what_a_dead_node_leads_is_told() -> None:
    if why := apache_kafka.missing():
        pytest.skip(why)
    with ApacheKafkaCluster(3) as kafka:
        with Admin(kafka.bootstrap) as admin:
            alone = {number: (number,) for number in range(3)}
            strict = {"min.insync.replicas": "3"}
            topics = [
                NewTopic("alone", assignments=alone, configs={"min.insync.replicas": "1"}),
                NewTopic("strict", 1, replication_factor=3, configs=strict),
            ]
            admin.create_topics(topics)
        eventually(lambda: not findings(doctor(kafka, "alone", "strict")))  # all nodes know them
        healthy = doctor(kafka, "alone", "strict")
        kafka.nodes[2].kill()
        eventually(lambda: len(findings(doctor(kafka, "alone", "strict"))) == 2)
        broken = doctor(kafka, "alone", "strict")

    assert (healthy.code, findings(healthy)) == (0, [])
    assert broken.code == 1
    assert [(one["check"], one["subject"], one["seen"]) for one in findings(broken)] == [
        ("leaders", "alone", "1 partition of 3 without a leader: 2"),
        ("replicas", "strict", "fewer than min.insync.replicas=3 in sync: partition 0"),
    ]
    assert all(one["meaning"] and one["advice"] for one in findings(broken))
