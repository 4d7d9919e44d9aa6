"""Transactions in the metadata log: what they hold takes effect at their end, or never."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.messages.control_records import LeaderChangeMessage
from pyk.protocol.messages.metadata_change_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)
from pyk.protocol.messages.metadata_records import (
    FeatureLevelRecord,
    PartitionRecord,
    TopicRecord,
)
from pyk.protocol.messages.raft_records import KRaftVersionRecord
from pyk.protocol.schema import Message
from pyk.reference_broker.controller.bootstrap import default_bootstrap, first_records_of_epoch
from pyk.reference_broker.controller.image import Change, MetadataImage, PartitionChanged
from pyk.reference_broker.controller.records import at_level
from pyk.reference_broker.controller.shard import ALONE
from pyk.reference_broker.coordinator.decision import Decision
from support.controllers import Controllers, topic

ORDERS = UUID(int=1)
CREATED: list[Message] = [
    TopicRecord(name="orders", topic_id=ORDERS),
    PartitionRecord(partition_id=0, topic_id=ORDERS, replicas=[0], isr=[0], leader=0),
]


def replayed(image: MetadataImage, *records: Message) -> list[Change]:
    return [change for record in records for change in image.replay(record)]


def test_an_aborted_transaction_changes_nothing() -> None:
    image = MetadataImage()

    changes = replayed(image, BeginTransactionRecord(), *CREATED, AbortTransactionRecord())

    assert changes == []
    assert (image.topics, image.topics_by_id, image.record_count) == ({}, {}, 4)


def test_a_transaction_takes_effect_at_its_end() -> None:
    image = MetadataImage()

    before = replayed(image, BeginTransactionRecord(), *CREATED)
    assert (before, image.topics) == ([], {})
    changes = replayed(image, EndTransactionRecord())

    assert [type(change) for change in changes] == [PartitionChanged]
    assert list(image.topics["orders"].partitions) == [0]


def test_records_after_an_aborted_transaction_take_effect_at_once() -> None:
    image = MetadataImage()

    replayed(image, BeginTransactionRecord(), AbortTransactionRecord())
    changes = replayed(image, *CREATED)

    assert len(changes) == 1
    assert "orders" in image.topics


def test_records_about_the_quorum_are_of_no_transaction() -> None:
    image = MetadataImage()

    replayed(
        image,
        BeginTransactionRecord(),
        LeaderChangeMessage(),
        KRaftVersionRecord(k_raft_version=1),
        *CREATED,
        AbortTransactionRecord(),
    )

    assert (image.features, image.topics) == ({"kraft.version": 1}, {})


def test_a_new_leader_aborts_a_transaction_that_was_left_open() -> None:
    image = MetadataImage()
    replayed(image, FeatureLevelRecord(name="metadata.version", feature_level=25))
    replayed(image, BeginTransactionRecord(), *CREATED)

    first, second = first_records_of_epoch(ALONE, image, [], 1)

    assert isinstance(first, LeaderChangeMessage)
    assert isinstance(second, AbortTransactionRecord)


def test_a_bootstrap_that_was_left_open_is_aborted_and_written_again() -> None:
    image = MetadataImage()
    bootstrap = default_bootstrap()
    replayed(image, BeginTransactionRecord(), *bootstrap)

    records = first_records_of_epoch(ALONE, image, bootstrap, 1)
    replayed(image, *records)

    kinds = [type(record) for record in records]
    assert kinds.index(AbortTransactionRecord) < kinds.index(BeginTransactionRecord)
    assert "metadata.version" in image.features


def test_a_controller_that_starts_again_forgets_what_was_left_open() -> None:
    controllers = Controllers()
    controllers.create(topic("orders"))
    left_open = [BeginTransactionRecord(), TopicRecord(name="lost", topic_id=ORDERS)]
    controllers.runtime.tell(lambda shard, _: Decision(list(at_level(left_open, 25))))

    controllers.restart()
    controllers.create(topic("bills"))
    controllers.restart()

    assert set(controllers.published.topics) == {"orders", "bills"}
    assert set(controllers.shard.image.topics) == {"orders", "bills"}
