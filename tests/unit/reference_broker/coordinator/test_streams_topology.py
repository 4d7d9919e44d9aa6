"""The topology of a streams group and the topics of the cluster: tasks, and internal topics."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import streams_group_heartbeat as wire
from pyk.reference_broker.coordinator.group.streams.configured_topology import (
    ConfiguredTopology,
    InternalTopic,
    configure,
)
from pyk.reference_broker.coordinator.group.streams.tasks import TaskId
from pyk.reference_broker.coordinator.group.streams.topology import (
    Topology,
    check_topology,
    topology_of,
    topology_record_value,
    used_topics,
)
from pyk.reference_broker.errors import ApiError

E = ErrorCode


def topic(name: str, partitions: int = 0, **more: Any) -> wire.TopicInfo:
    return wire.TopicInfo(name=name, partitions=partitions, **more)


def subtopology(number: str = "0", *sources: str, **more: Any) -> wire.Subtopology:
    return wire.Subtopology(subtopology_id=number, source_topics=list(sources), **more)


def topology(*subtopologies: wire.Subtopology, epoch: int = 0) -> Topology:
    return topology_of(
        topology_record_value(wire.Topology(epoch=epoch, subtopologies=list(subtopologies)))
    )


def problem(configured: ConfiguredTopology) -> tuple[int, str]:
    assert configured.problem is not None
    return configured.problem.status_code, configured.problem.status_detail


COUNTING = (
    subtopology("0", "text", repartition_sink_topics=["words"]),
    subtopology(
        "1", repartition_source_topics=[topic("words")], state_changelog_topics=[topic("counts")]
    ),
)
"""A topology that reads texts and counts words."""


def test_a_changelog_has_as_many_partitions_as_there_are_tasks() -> None:
    one = subtopology("0", "orders", "bills", state_changelog_topics=[topic("store")])

    configured = configure(topology(one), {"orders": 2, "bills": 5})

    assert [each.partitions for each in configured.missing] == [5]
    assert configured.subtopologies is not None
    assert configured.subtopologies["0"].task_count == 5


def test_a_repartition_topic_has_as_many_partitions_as_what_writes_it_reads() -> None:
    configured = configure(topology(*COUNTING), {"text": 3})

    assert configured.missing == (
        InternalTopic(name="counts", partitions=3, replication_factor=0, configs=()),
        InternalTopic(name="words", partitions=3, replication_factor=0, configs=()),
    )
    assert problem(configured) == (3, "Internal topics are missing: counts, words")
    assert configured.tasks(only_stateful=True) == [TaskId("1", number) for number in range(3)]


def test_a_topology_is_ready_once_all_topics_exist() -> None:
    configured = configure(topology(*COUNTING), {"text": 3, "words": 3, "counts": 3})

    assert configured.is_ready
    assert not configured.missing
    assert len(configured.tasks()) == 6


def test_an_internal_topic_keeps_its_configuration() -> None:
    store = topic(
        "store",
        replication_factor=2,
        topic_configs=[wire.KeyValue(key="cleanup.policy", value="compact")],
    )

    configured = configure(
        topology(subtopology("0", "orders", state_changelog_topics=[store])), {"orders": 1}
    )

    assert configured.missing == (
        InternalTopic(
            name="store",
            partitions=1,
            replication_factor=2,
            configs=(("cleanup.policy", "compact"),),
        ),
    )


def test_repartition_topics_may_follow_from_each_other() -> None:
    chain = (
        subtopology("0", "orders", repartition_sink_topics=["a"]),
        subtopology(
            "2", repartition_source_topics=[topic("b")], state_changelog_topics=[topic("store")]
        ),
        subtopology("1", repartition_source_topics=[topic("a")], repartition_sink_topics=["b"]),
    )

    configured = configure(topology(*reversed(chain)), {"orders": 4})

    assert {each.name: each.partitions for each in configured.missing} == {
        "a": 4,
        "b": 4,
        "store": 4,
    }


def test_a_repartition_topic_may_say_how_many_partitions_it_wants() -> None:
    fixed = subtopology("1", repartition_source_topics=[topic("words", 7)])

    configured = configure(topology(COUNTING[0], fixed), {"text": 3})

    assert [each.partitions for each in configured.missing] == [7]


def test_missing_sources_are_named_up_to_three() -> None:
    one = subtopology("0", "e", "d", "c", "b", "a")

    configured = configure(topology(one), {"c": 1})

    assert problem(configured) == (1, "Source topics a, b, d and 1 additional topics are missing.")
    assert configured.subtopologies is None


def test_an_existing_internal_topic_must_have_the_right_number_of_partitions() -> None:
    configured = configure(topology(*COUNTING), {"text": 3, "words": 3, "counts": 4})

    assert problem(configured) == (
        2,
        "Existing topic counts has different number of partitions: expected 3, found 4",
    )


# -- topics that are joined ----------------------------------------------------------------------


def joined(*sources: str, internal: list[wire.TopicInfo] | None = None) -> list[wire.Subtopology]:
    """Return a subtopology that joins all of its sources, and one that writes the internal ones."""
    topics = internal or []
    group = wire.CopartitionGroup(
        source_topics=list(range(len(sources))),
        repartition_source_topics=list(range(len(topics))),
    )
    return [
        subtopology("0", "text", repartition_sink_topics=[each.name for each in topics]),
        subtopology("1", *sources, repartition_source_topics=topics, copartition_groups=[group]),
    ]


def test_topics_that_are_joined_must_have_equally_many_partitions() -> None:
    configured = configure(topology(*joined("a", "b")), {"a": 1, "b": 2, "text": 1})

    assert problem(configured) == (
        2,
        "Following topics do not have the same number of partitions: [{a=1, b=2}]",
    )


def test_a_repartition_topic_follows_what_it_is_joined_with() -> None:
    configured = configure(topology(*joined("a", internal=[topic("r")])), {"a": 5, "text": 2})

    assert [(each.name, each.partitions) for each in configured.missing] == [("r", 5)]


def test_repartition_topics_that_are_joined_follow_the_largest() -> None:
    one = joined(internal=[topic("r"), topic("s")])
    one[0].repartition_sink_topics = ["r"]
    other = subtopology("2", "bills", repartition_sink_topics=["s"])

    configured = configure(topology(*one, other), {"text": 2, "bills": 6})

    assert [each.partitions for each in configured.missing] == [6, 6]


def test_a_fixed_repartition_topic_must_fit_what_it_is_joined_with() -> None:
    configured = configure(topology(*joined("a", internal=[topic("r", 3)])), {"a": 5, "text": 2})

    code, detail = problem(configured)
    assert code == 2
    assert detail == (
        "Number of partitions [3] of repartition topic [r] doesn't match number of partitions [5] "
        "of the source topic."
    )


def test_fixed_repartition_topics_that_are_joined_must_fit_each_other() -> None:
    internal = [topic("r", 3), topic("s", 4)]

    configured = configure(topology(*joined(internal=internal)), {"text": 2})

    assert problem(configured) == (
        2,
        "Following topics do not have the same number of partitions: [{r=3, s=4}]",
    )


def test_a_fixed_repartition_topic_decides_for_those_it_is_joined_with() -> None:
    internal = [topic("r", 3), topic("s")]

    configured = configure(topology(*joined(internal=internal)), {"text": 2})

    assert [each.partitions for each in configured.missing] == [3, 3]


# -- topologies that no topics fit ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("subtopologies", "code", "message"),
    [
        (
            [subtopology("0", repartition_source_topics=[topic("r")])],
            E.STREAMS_INVALID_TOPOLOGY,
            "a repartition source topic is never used as a sink topic",
        ),
        (
            [
                subtopology(
                    "0", repartition_source_topics=[topic("r")], repartition_sink_topics=["r"]
                )
            ],
            E.STREAMS_INVALID_TOPOLOGY,
            "There may be loops in the topology",
        ),
        (
            [subtopology("7")],
            E.STREAMS_INVALID_TOPOLOGY,
            "No source topics found for subtopology 7",
        ),
        (
            [
                subtopology(
                    "0", "text", copartition_groups=[wire.CopartitionGroup(source_topics=[1])]
                )
            ],
            E.UNKNOWN_SERVER_ERROR,
            None,
        ),
        (
            [
                subtopology(
                    "0", "text", copartition_groups=[wire.CopartitionGroup(source_topics=[-1])]
                )
            ],
            E.UNKNOWN_SERVER_ERROR,
            None,
        ),
        (
            [subtopology("0", "text", repartition_source_topics=[topic("r", -2)])],
            E.UNKNOWN_SERVER_ERROR,
            None,
        ),
    ],
)
def test_a_topology_that_makes_no_sense_is_refused(
    subtopologies: list[wire.Subtopology], code: ErrorCode, message: str | None
) -> None:
    with pytest.raises(ApiError) as caught:
        configure(topology(*subtopologies), {"text": 1})

    assert caught.value.code is code
    assert message is None or message in (caught.value.message or "")


def test_a_changelog_may_not_say_how_many_partitions_it_wants() -> None:
    one = subtopology("0", "orders", state_changelog_topics=[topic("store", 2)])

    with pytest.raises(ApiError, match="Changelog topic store") as caught:
        check_topology(wire.Topology(subtopologies=[one]))

    assert caught.value.code is E.STREAMS_INVALID_TOPOLOGY


@pytest.mark.parametrize(
    "value",
    [
        wire.Topology(epoch=-1),
        wire.Topology(subtopologies=[subtopology("0", "a"), subtopology("0", "b")]),
    ],
    ids=["negative epoch", "same id twice"],
)
def test_a_topology_without_a_record_is_refused(value: wire.Topology) -> None:
    with pytest.raises(ApiError):
        topology_record_value(value)


# -- tasks and topics ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (TaskId("2", 0), "Subtopology 2 does not exist in the topology."),
        (
            TaskId("0", 3),
            "Task 3 for subtopology 0 is invalid. Number of tasks for this subtopology: 3",
        ),
        (
            TaskId("0", -1),
            "Task -1 for subtopology 0 is invalid. Number of tasks for this subtopology: 3",
        ),
    ],
)
def test_tasks_that_a_topology_does_not_have_are_refused(task: TaskId, message: str) -> None:
    configured = configure(topology(*COUNTING), {"text": 3, "words": 3, "counts": 3})

    configured.check_tasks(frozenset({TaskId("0", 2), TaskId("1", 0)}))
    with pytest.raises(ApiError) as caught:
        configured.check_tasks(frozenset({task}))

    assert (caught.value.code, caught.value.message) == (E.INVALID_REQUEST, message)


def test_a_topology_knows_what_reads_a_topic() -> None:
    found = topology(*COUNTING)

    assert [found.reader_of(name) for name in ("text", "words", "counts")] == ["0", "1", None]
    assert found.topic_names == {"text", "words", "counts"}


def test_all_topics_of_a_topology_are_used_once() -> None:
    one = wire.Topology(subtopologies=[*COUNTING, subtopology("2", "text")])

    assert used_topics(one) == ["text", "words", "counts"]


def test_topics_of_a_subtopology_are_shown_in_the_order_of_their_names() -> None:
    sources = [f"source-{number}" for number in range(9, 0, -1)]
    first = subtopology("0", *sources, repartition_sink_topics=["z", "b"])
    second = subtopology("1", "y", repartition_source_topics=[topic("z"), topic("b")])

    found = configure(topology(first, second), dict.fromkeys([*sources, "y"], 1)).subtopologies

    assert found is not None
    assert found["0"].repartition_sink_topics == ("b", "z")
    assert found["0"].all_sources == tuple(reversed(sources))
    assert found["1"].all_sources == ("b", "y", "z")
