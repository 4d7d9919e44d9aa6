"""A group has the offsets of a small model, also if its coordinator ends after any append."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from support.groups import GROUP, Groups, offset
from support.offset_models import OffsetModel

PARTITIONS = st.integers(0, 1)
PRODUCERS = st.integers(7, 9)

OPERATIONS = st.one_of(
    st.tuples(st.just("commit"), PARTITIONS),
    st.tuples(st.just("commit in transaction"), PRODUCERS, PARTITIONS),
    st.tuples(st.just("end"), PRODUCERS, st.booleans()),
    st.tuples(st.just("delete offset"), PARTITIONS),
    st.tuples(st.just("delete group")),
)


def carry_out(operation: tuple[Any, ...], value: int, groups: Groups, model: OffsetModel) -> None:
    match operation:
        case ("commit", partition):
            groups.commit(offset(value, partition=partition))
            model.commit(partition, value)
        case ("commit in transaction", producer_id, partition):
            groups.commit_in_transaction(producer_id, offset(value, partition=partition))
            model.commit_in_transaction(producer_id, partition, value)
        case ("end", producer_id, is_commit):
            groups.end_transaction(producer_id, is_commit=is_commit)
            model.end_transaction(producer_id, is_commit=is_commit)
        case ("delete offset", partition) if GROUP in groups.shard.groups:
            _, decision = groups.shard.offset_requests.delete(GROUP, [("orders", partition)])
            groups.runtime.carry_out(decision)
            model.delete(partition)
        case ("delete group",):
            _, decision = groups.shard.delete_groups([GROUP])
            groups.runtime.carry_out(decision)
            model.delete(0, 1)
        case _:
            pass


def has_offsets(groups: Groups, model: OffsetModel) -> bool:
    committed = groups.shard.offsets.of_group(GROUP).get("orders", {})
    offsets = {partition: each.offset for partition, each in committed.items()}
    unstable = {partition for _, partition in groups.unstable()}
    return (offsets, unstable) == (model.offsets, model.unstable)


@given(operations=st.lists(OPERATIONS, max_size=30), restarts=st.sets(st.integers(0, 29)))
def test_a_group_has_the_offsets_of_the_model_before_and_after_every_restart(
    operations: list[tuple[Any, ...]], restarts: set[int]
) -> None:
    groups, model = Groups(), OffsetModel()

    for number, operation in enumerate(operations):
        carry_out(operation, number, groups, model)
        assert has_offsets(groups, model)
        assert has_offsets(Groups(groups.log), model), "another coordinator loads the log"
        if number in restarts:
            groups.restart()
