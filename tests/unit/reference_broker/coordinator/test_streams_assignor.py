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

    check_laws(assigned, processes, topology, replicas)


@given(
    before=process_of_member,
    processes=process_of_member,
    earlier=topologies,
    topology=topologies,
    replicas=st.integers(0, 2),
)
def test_that_is_so_when_members_and_tasks_have_changed(
    before: dict[str, str],
    processes: dict[str, str],
    earlier: ConfiguredTopology,
    topology: ConfiguredTopology,
    replicas: int,
) -> None:
    current = assign_sticky(members(before), earlier, 2)

    assigned = assign_sticky(members(processes, current), topology, replicas)

    check_laws(assigned, processes, topology, replicas)


def check_laws(
    assigned: Mapping[str, Tasks],
    processes: Mapping[str, str],
    topology: ConfiguredTopology,
    replicas: int,
) -> None:
    """Check that each task is active once, and has its standbys in other processes."""
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


def test_a_share_that_one_member_has_exceeded_is_smaller_for_the_others() -> None:
    before = {
        "a": Tasks(active=tasks(1, 2)),
        "b": Tasks(active=tasks(0) | tasks(0, of="r")),
    }

    assigned = assign_sticky(members(own_processes("abc"), before), topology(s=3, r=1), 0)

    assert assigned["b"].active == tasks(0) | tasks(0, of="r")
    assert assigned["a"].active == tasks(1)
    assert assigned["c"].active == tasks(2)


def test_a_member_with_its_share_keeps_no_standby_beyond_it() -> None:
    before = {
        "a": Tasks(active=tasks(0)),
        "b": Tasks(active=tasks(0, of="x"), standby=tasks(0)),
    }

    assigned = assign_sticky(members(own_processes("abc"), before), topology(1, s=1), 1)

    assert (assigned["b"].standby, assigned["c"].standby) == (tasks(), tasks(0))


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


def test_a_standby_with_fewer_tasks_takes_over_before_the_first() -> None:
    before = {"a": Tasks(active=tasks(1), standby=tasks(0)), "c": Tasks(standby=tasks(0))}

    assigned = assign_sticky(members(own_processes("abc"), before), topology(s=2), 0)

    assert assigned["c"].active == tasks(0)


def test_of_standbys_in_one_process_the_first_takes_over() -> None:
    before = {"a": Tasks(active=tasks(1), standby=tasks(0)), "b": Tasks(standby=tasks(0))}

    assigned = assign_sticky(members({"a": "p", "b": "p"}, before), topology(s=3), 0)

    assert assigned["a"].active == tasks(0, 1)


def test_a_standby_in_a_process_with_less_load_does_not_take_over_with_as_many_tasks() -> None:
    before = {
        "a": Tasks(standby=tasks(1)),
        "b": Tasks(active=tasks(2)),
        "c": Tasks(standby=tasks(1)),
    }

    assigned = assign_sticky(members({"a": "p", "b": "p", "c": "q"}, before), topology(s=3), 0)

    assert assigned["a"].active == tasks(1)


def test_no_standby_is_kept_if_the_first_member_with_one_has_taken_over() -> None:
    """As in Kafka, although the other one has the stores."""
    before = {"a": Tasks(standby=tasks(0)), "c": Tasks(standby=tasks(0))}

    assigned = assign_sticky(members(own_processes("abc"), before), topology(s=1), 1)

    assert assigned["a"].active == tasks(0)
    assert assigned["b"].standby == tasks(0)


def test_new_standbys_are_handed_out_from_the_last_task_on() -> None:
    assigned = assign_sticky(members(own_processes("abc")), topology(s=1, t=1), 1)

    assert assigned["b"].standby == tasks(0, of="s")
    assert assigned["c"].standby == tasks(0, of="t")


def test_standbys_are_kept_from_the_last_partition_on() -> None:
    before = {
        "b": Tasks(active=tasks(2)),
        "c": Tasks(active=tasks(1), standby=tasks(0, 1, of="t")),
        "d": Tasks(active=tasks(0) | tasks(0, of="t"), standby=tasks(1)),
    }

    assigned = assign_sticky(members(own_processes("abcd"), before), topology(s=2, t=1), 1)

    assert [assigned[each].standby for each in "bcd"] == [tasks(0), tasks(0, of="t"), tasks(1)]


def test_standbys_that_are_kept_leave_members_with_equally_many_tasks() -> None:
    before = {
        "a": Tasks(active=tasks(0, 2, 3)),
        "b": Tasks(standby=tasks(1, 2)),
        "c": Tasks(active=tasks(0, of="x")),
        "d": Tasks(active=tasks(1)),
    }

    assigned = assign_sticky(members(own_processes("abcd"), before), topology(1, s=4), 1)

    counts = [len(each.active) + len(each.standby) for each in assigned.values()]
    assert counts == [3, 2, 2, 2]
