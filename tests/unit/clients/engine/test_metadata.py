"""The metadata image: which changes a response may make, and which not."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from pyk.clients.engine.metadata import MetadataImage, MetadataUpdate, Node
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode, MalformedMessageError
from pyk.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

FIRST_ID, SECOND_ID = UUID(int=1), UUID(int=2)
ORDERS = TopicPartition("orders", 0)


def broker(node_id: int, host: str = "broker", port: int = 9092, **more: Any) -> Any:
    return MetadataResponseBroker(node_id=node_id, host=host, port=port, **more)


def partition(index: int = 0, leader: int = 1, epoch: int = 5, **more: Any) -> Any:
    return MetadataResponsePartition(
        partition_index=index, leader_id=leader, leader_epoch=epoch, **more
    )


def topic(name: str = "orders", *partitions: Any, topic_id: UUID = FIRST_ID, error: int = 0) -> Any:
    return MetadataResponseTopic(
        name=name, topic_id=topic_id, partitions=list(partitions), error_code=error
    )


def response(*topics: Any, brokers: Any = None, **more: Any) -> MetadataResponse:
    return MetadataResponse(
        brokers=brokers if brokers is not None else [broker(1), broker(2)],
        topics=list(topics),
        **more,
    )


def image_of(*responses: MetadataResponse, tracked: Any = frozenset({"orders"})) -> MetadataImage:
    image = MetadataImage()
    for number, one in enumerate(responses):
        image = image.updated(MetadataUpdate.of(one), tracked, now=float(number))
    return image


def test_leaders_epochs_and_ids_can_be_looked_up() -> None:
    image = image_of(response(topic("orders", partition(0, 2, 7)), controller_id=2))

    assert image.leader(ORDERS) == 2
    assert image.leader_epoch(ORDERS) == 7
    assert image.controller_id == 2
    found = image.topic_by_id(FIRST_ID)
    assert found is not None
    assert found.name == "orders"


def test_an_unknown_topic_is_none() -> None:
    image = image_of(response(topic("orders", partition())))

    assert image.topic("payments") is None
    assert image.leader(TopicPartition("orders", 1)) is None
    assert image.leader(TopicPartition("orders", -1)) is None
    assert image.topic_by_id(SECOND_ID) is None


def test_topics_are_awaited_that_may_still_come_to_be() -> None:
    unknown = topic("payments", error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    refused = topic("secrets", error=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    image = image_of(response(topic("orders", partition()), unknown, refused))

    assert not image.awaits(["orders", "secrets"])
    assert image.awaits(["orders", "payments"])
    assert image.awaits(["never heard of"])


def test_each_answer_makes_a_newer_image() -> None:
    assert image_of(response(), response()).version == 2


def test_an_older_leader_epoch_changes_nothing() -> None:
    image = image_of(
        response(topic("orders", partition(0, 2, 8))), response(topic("orders", partition(0, 1, 7)))
    )

    assert image.leader(ORDERS) == 2
    assert image.leader_epoch(ORDERS) == 8


def test_the_same_leader_epoch_is_taken_because_replicas_may_have_changed() -> None:
    image = image_of(
        response(topic("orders", partition(isr_nodes=[1, 2]))),
        response(topic("orders", partition(isr_nodes=[1]))),
    )

    found = image.partition(ORDERS)
    assert found is not None
    assert found.in_sync_replicas == (1,)


def test_a_topic_that_was_made_again_begins_with_its_own_epochs() -> None:
    image = image_of(
        response(topic("orders", partition(0, 2, 8))),
        *[response(topic("orders", partition(0, 1, 0), topic_id=SECOND_ID))] * 2,
    )

    assert image.leader(ORDERS) == 1
    assert image.leader_epoch(ORDERS) == 0
    assert image.topic_by_id(FIRST_ID) is None


def test_a_topic_that_is_said_not_to_exist_keeps_its_partitions() -> None:
    missing = topic("orders", topic_id=UUID(int=0), error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    image = image_of(response(topic("orders", partition(), partition(1))), response(missing))

    found = image.topic("orders")
    assert found is not None
    assert found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert found.partition_count == 2
    assert found.topic_id == FIRST_ID


def test_a_topic_that_is_back_has_no_error() -> None:
    missing = topic("orders", topic_id=UUID(int=0), error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    there = response(topic("orders", partition()))

    found = image_of(there, response(missing), there).topic("orders")

    assert found is not None
    assert found.error_code == 0


def test_topics_that_are_not_tracked_are_forgotten() -> None:
    first = response(topic("orders", partition()), topic("payments", partition()))
    image = image_of(first, response(), tracked={"orders"})

    assert set(image.topics) == {"orders"}


def test_an_answer_about_all_topics_says_of_those_it_leaves_out_that_they_do_not_exist() -> None:
    image = image_of(response(topic("orders", partition()), topic("payments", partition())))
    answer = MetadataUpdate.of(response(), names_all_topics=True)

    image = image.updated(answer, {"orders"}, now=1.0)

    (found,) = image.topics.values()
    assert found.name == "orders"
    assert found.is_missing
    assert found.partition_count == 1


def answer_with_id(topic_id: UUID) -> MetadataUpdate:
    return MetadataUpdate.of(response(topic("orders", partition(0, 1, 0), topic_id=topic_id)))


def id_after(*ids_at: tuple[UUID, float]) -> UUID | None:
    """Return the id of a topic after answers that name an id, each at its time."""
    image = MetadataImage()
    for topic_id, now in ids_at:
        image = image.updated(answer_with_id(topic_id), {"orders"}, now)
    found = image.topic("orders")
    assert found is not None
    return found.topic_id


def test_another_topic_id_is_believed_when_a_second_answer_names_it() -> None:
    assert id_after((FIRST_ID, 0), (SECOND_ID, 1)) == FIRST_ID
    assert id_after((FIRST_ID, 0), (SECOND_ID, 1), (SECOND_ID, 1.1)) == SECOND_ID
    assert id_after((FIRST_ID, 0), (SECOND_ID, 1), (FIRST_ID, 2), (SECOND_ID, 3)) == FIRST_ID


def test_the_id_of_a_deleted_topic_is_believed_after_five_seconds_without_another_id() -> None:
    created_again = (FIRST_ID, 0), (SECOND_ID, 0), (SECOND_ID, 0)

    assert id_after(*created_again, *[(FIRST_ID, n) for n in range(5)]) == SECOND_ID
    assert id_after(*created_again, *[(FIRST_ID, n) for n in range(6)]) == FIRST_ID
    contradicted = (FIRST_ID, 0), (SECOND_ID, 3), (FIRST_ID, 4), (FIRST_ID, 6)
    assert id_after(*created_again, *contradicted) == SECOND_ID


def test_an_answer_without_an_id_says_nothing_about_it() -> None:
    assert id_after((FIRST_ID, 0), (UUID(int=0), 1), (UUID(int=0), 2)) == FIRST_ID


def test_a_leader_that_is_not_among_the_brokers_is_ignored() -> None:
    image = image_of(response(topic("orders", partition(leader=9))))

    assert image.leader(ORDERS) is None


def test_responses_without_epochs_are_used_as_they_come() -> None:
    image = image_of(
        response(topic("orders", partition(0, 1, -1))),
        response(topic("orders", partition(0, 2, -1))),
    )

    assert image.leader(ORDERS) == 2
    assert image.leader_epoch(ORDERS) is None


def test_a_leader_that_came_with_an_error_is_news_if_its_epoch_is_newer() -> None:
    image = image_of(response(topic("orders", partition(0, 1, 5))))

    newer = image.with_leaders({ORDERS: (2, 6)})

    assert newer.leader(ORDERS) == 2
    assert newer.version == image.version + 1


@pytest.mark.parametrize(
    "leaders",
    [
        pytest.param({ORDERS: (2, 5)}, id="the same epoch"),
        pytest.param({ORDERS: (2, 4)}, id="an older epoch"),
        pytest.param({ORDERS: (9, 6)}, id="a node that nobody knows"),
        pytest.param({TopicPartition("payments", 0): (2, 6)}, id="a topic that nobody knows"),
    ],
)
def test_a_leader_that_came_with_an_error_is_no_news_with(leaders: Any) -> None:
    image = image_of(response(topic("orders", partition(0, 1, 5))))

    assert image.with_leaders(leaders) is image


def test_a_leader_that_came_with_an_error_may_be_a_new_node() -> None:
    image = image_of(response(topic("orders", partition(0, 1, 5))))

    newer = image.with_leaders({ORDERS: (9, 6)}, [Node(9, "broker9", 9092)])

    assert newer.leader(ORDERS) == 9
    assert newer.nodes[9].host == "broker9"


def test_a_leader_that_came_with_an_error_and_is_no_node_of_the_cluster_is_given_up() -> None:
    answer = response(topic("orders", partition(0, 1, 5)))
    image = image_of(answer).with_leaders({ORDERS: (9, 6)}, [Node(9, "broker9", 9092)])

    later = image.updated(MetadataUpdate.of(answer), {"orders"}, now=1.0)

    assert later.leader(ORDERS) == 1
    assert later.leader_epoch(ORDERS) == 5


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(response(brokers=[broker(1), broker(1, "other")]), id="a broker twice"),
        pytest.param(response(brokers=[broker(-1)]), id="a node id below 0"),
        pytest.param(response(brokers=[broker(1, host="h" * 1_000_000)]), id="a host of 1 MB"),
        pytest.param(response(brokers=[broker(1, host="a\r\nb")]), id="a host with line ends"),
        pytest.param(response(brokers=[broker(1, host="a\0b")]), id="a host with NUL"),
        pytest.param(response(brokers=[broker(1, host="")]), id="no host"),
        pytest.param(response(brokers=[broker(1, port=-1)]), id="port -1"),
        pytest.param(response(brokers=[broker(1, port=70_000)]), id="port 70000"),
        pytest.param(response(brokers=[broker(1, rack="r" * 1_000_000)]), id="a rack of 1 MB"),
        pytest.param(response(brokers=[broker(n) for n in range(10_001)]), id="10 001 brokers"),
        pytest.param(response(topic("orders", partition(0), partition(0))), id="partition twice"),
        pytest.param(response(topic("orders", partition(-1))), id="partition -1"),
        pytest.param(response(topic("orders", partition(2**31 - 1))), id="partition 2147483647"),
        pytest.param(response(topic("t" * 1_000, partition())), id="a topic of 1000 letters"),
        pytest.param(response(topic("a\nb", partition())), id="a topic with a line end"),
    ],
)
def test_an_answer_that_cannot_be_true_is_refused_in_a_few_words(answer: MetadataResponse) -> None:
    with pytest.raises(MalformedMessageError) as raised:
        MetadataUpdate.of(answer)

    assert len(str(raised.value)) < 256
    assert str(raised.value).isprintable()


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (Node(1, "shop", 9092), "node 1 (shop:9092)"),
        (Node(1, "fe80::1", 9092), "node 1 ([fe80::1]:9092)"),
        (Node(-1, "fe80::1", 9092), "[fe80::1]:9092"),
    ],
)
def test_an_ipv6_address_is_shown_in_brackets(node: Node, text: str) -> None:
    assert str(node) == text
    assert node.address in text
