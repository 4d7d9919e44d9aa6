"""The assignor of streams groups: every task once, balanced, and with few moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyk.reference_broker.coordinator.group.streams.configured_topology import (
    ConfiguredSubtopology,
    ConfiguredTopology,
    InternalTopic,
)
from pyk.reference_broker.coordinator.group.streams.sticky_assignor import (
    TaskMember,
    assign_sticky,
)
from pyk.reference_broker.coordinator.group.streams.tasks import TaskId, TaskIds, Tasks

STORE = InternalTopic(name="store", partitions=1, replication_factor=0, configs=())


def topology(stateless: int = 0, **stateful: int) -> ConfiguredTopology:
    """Return a topology with so many tasks in each subtopology; ``x`` is the one without stores."""
    counts = {**stateful, **({"x": stateless} if stateless else {})}
    return ConfiguredTopology(
        epoch=0,
        subtopologies={
            name: ConfiguredSubtopology(
                task_count=count,
                source_topics=("orders",),
                repartition_sink_topics=(),
                repartition_source_topics=(),
                state_changelog_topics=() if name == "x" else (STORE,),
            )
            for name, count in sorted(counts.items())
        },
    )


def members(
    processes: Mapping[str, str], current: Mapping[str, Tasks] | None = None
) -> dict[str, TaskMember]:
    before = current or {}
    return {
        member_id: TaskMember(process_id=process, current=before.get(member_id, Tasks()))
        for member_id, process in processes.items()
    }


def tasks(*partitions: int, of: str = "s") -> TaskIds:
    return frozenset(TaskId(of, partition) for partition in partitions)


def own_processes(names: str) -> dict[str, str]:
    return {name: name for name in names}


process_of_member = st.dictionaries(
    st.sampled_from("abcdef"), st.sampled_from("pqr"), min_size=1, max_size=6
)
topologies = st.builds(topology, st.integers(0, 4), s=st.integers(1, 7), t=st.integers(1, 7))


@given(processes=process_of_member, topology=topologies, replicas=st.integers(0, 2))
def test_every_task_is_active_once_and_has_standbys_in_other_processes(
    processes: dict[str, str], topology: ConfiguredTopology, replicas: int
) -> None:
    assigned = assign_sticky(members(processes), topology, replicas)

    active = Counter(task for each in assigned.values() for task in each.active)
    assert active == Counter(topology.tasks())
    at_process = Counter(
        (processes[member_id], task)
        for member_id, each in assigned.items()
        for task in (*each.active, *each.standby)
    )
    assert set(at_process.values()) <= {1}
    standby = Counter(task for each in assigned.values() for task in each.standby)
    other_processes = len(set(processes.values())) - 1
    wanted = min(replicas, other_processes)
    assert all(standby[task] == wanted for task in topology.tasks(only_stateful=True))


@given(names=st.sets(st.sampled_from("abcdef"), min_size=1), topology=topologies)
def test_members_with_a_process_each_have_equally_many_active_tasks(
    names: set[str], topology: ConfiguredTopology
) -> None:
    assigned = assign_sticky(members(own_processes("".join(names))), topology, 0)

    counts = [len(each.active) for each in assigned.values()]
    assert max(counts) - min(counts) <= 1


@given(processes=process_of_member, topology=topologies, replicas=st.integers(0, 2))
def test_an_assignment_stays_as_it_is_while_nothing_changes(
    processes: dict[str, str], topology: ConfiguredTopology, replicas: int
) -> None:
    first = assign_sticky(members(processes), topology, replicas)

    again = assign_sticky(members(processes, first), topology, replicas)

    assert {each: first[each].active for each in first} == {
        each: again[each].active for each in again
    }


def test_new_tasks_are_handed_out_by_subtopology() -> None:
    assigned = assign_sticky(members(own_processes("ab")), topology(s=2, t=2), 0)

    assert assigned["a"].active == tasks(0, of="s") | tasks(0, of="t")
    assert assigned["b"].active == tasks(1, of="s") | tasks(1, of="t")


def test_a_member_keeps_its_tasks_up_to_its_share() -> None:
    before = {"a": Tasks(active=tasks(0, 1, 2, 3))}

    assigned = assign_sticky(members(own_processes("ab"), before), topology(s=4), 0)

    assert assigned["a"].active == tasks(0, 1)
    assert assigned["b"].active == tasks(2, 3)


def test_a_member_with_the_standby_takes_over_a_task() -> None:
    before = {"b": Tasks(active=tasks(1), standby=tasks(0)), "c": Tasks(active=tasks(2))}

    assigned = assign_sticky(members(own_processes("bc"), before), topology(s=3), 1)

    assert assigned["b"].active == tasks(0, 1)
    assert assigned["c"].active == tasks(2)


def test_a_member_with_the_standby_takes_over_before_the_first_of_equals() -> None:
    before = {"b": Tasks(active=tasks(2)), "c": Tasks(active=tasks(1), standby=tasks(0))}

    assigned = assign_sticky(members(own_processes("bc"), before), topology(s=3), 1)

    assert assigned["c"].active == tasks(0, 1)


def test_tasks_of_the_same_partition_stay_together() -> None:
    before = {"a": Tasks(active=tasks(0, 1, of="s") | tasks(0, 1, of="t"))}

    assigned = assign_sticky(members(own_processes("ab"), before), topology(s=2, t=2), 0)

    assert assigned["a"].active == tasks(0, of="s") | tasks(0, of="t")


@pytest.mark.parametrize("holder", ["b", "c"])
def test_a_standby_stays_with_the_member_that_has_it(holder: str) -> None:
    before = {"a": Tasks(active=tasks(0)), holder: Tasks(standby=tasks(0))}

    assigned = assign_sticky(members(own_processes("abc"), before), topology(s=1), 1)

    assert [name for name, each in assigned.items() if each.standby] == [holder]


def test_no_more_standbys_stay_than_are_wanted() -> None:
    before = {name: Tasks(standby=tasks(0)) for name in "bc"} | {"a": Tasks(active=tasks(0))}

    assigned = assign_sticky(members(own_processes("abc"), before), topology(s=1), 1)

    assert sum(len(each.standby) for each in assigned.values()) == 1


@given(processes=process_of_member, topology=topologies, replicas=st.integers(0, 2))
def test_the_order_in_which_members_joined_makes_no_difference(
    processes: dict[str, str], topology: ConfiguredTopology, replicas: int
) -> None:
    joined = members(processes)

    assigned = assign_sticky(joined, topology, replicas)

    assert assigned == assign_sticky(dict(reversed(joined.items())), topology, replicas)


def test_the_member_that_was_active_becomes_the_standby() -> None:
    before = {"a": Tasks(active=tasks(0, 1, 2, 3))}

    assigned = assign_sticky(members(own_processes("ab"), before), topology(s=4), 1)

    assert assigned["a"].standby == tasks(2, 3)
    assert assigned["b"].standby == tasks(0, 1)


def test_standbys_stay_with_the_members_that_have_them() -> None:
    before = {
        "a": Tasks(active=tasks(0)),
        "b": Tasks(active=tasks(1), standby=tasks(0)),
        "c": Tasks(standby=tasks(1)),
    }

    assigned = assign_sticky(members(own_processes("abc"), before), topology(s=2), 1)

    assert assigned["b"].standby == tasks(0)
    assert assigned["c"].standby == tasks(1)


def test_tasks_without_stores_have_no_standby() -> None:
    assigned = assign_sticky(members(own_processes("ab")), topology(4), 1)

    assert not assigned["a"].standby | assigned["b"].standby


def test_threads_of_a_process_share_its_tasks() -> None:
    processes = {"a": "p", "b": "p", "c": "q"}

    assigned = assign_sticky(members(processes), topology(s=6), 0)

    assert [len(assigned[each].active) for each in "abc"] == [2, 2, 2]


def test_the_less_loaded_of_two_standbys_takes_over() -> None:
    before = {
        "a": Tasks(active=tasks(0, 1), standby=tasks(2)),
        "b": Tasks(active=tasks(3), standby=tasks(2)),
    }

    assigned = assign_sticky(members(own_processes("ab"), before), topology(s=4), 1)

    assert assigned["b"].active == tasks(2, 3)
