"""Offsets that groups commit in transactions: pending until the marker, as in Kafka."""

from __future__ import annotations

from uuid import UUID

import pytest

from pyk.protocol.errors import ErrorCode
from support.groups import GROUP, Groups, offset

OK = {("orders", 0): ErrorCode.NONE}
ORDERS = ("orders", 0)
FIRST, SECOND = 7, 8
OLD_TOPIC, NEW_TOPIC = UUID(int=1), UUID(int=2)


def expire(groups: Groups) -> None:
    groups.runtime.carry_out(groups.shard.offset_requests.expire(groups.moment()))


# -- the end of a transaction ----------------------------------------------------------------------


def test_an_offset_of_a_transaction_counts_from_the_commit_marker_on() -> None:
    groups = Groups()
    groups.commit(offset(1))

    assert groups.commit_in_transaction(FIRST, offset(5)) == OK
    assert (groups.committed(), groups.unstable()) == (1, {ORDERS})
    groups.end_transaction(FIRST, is_commit=True)

    assert (groups.committed(), groups.unstable()) == (5, set())


def test_an_offset_of_an_aborted_transaction_never_counts() -> None:
    groups = Groups()
    groups.commit(offset(1))
    groups.commit_in_transaction(FIRST, offset(5))

    groups.end_transaction(FIRST, is_commit=False)

    assert (groups.committed(), groups.unstable()) == (1, set())


def test_the_last_offset_of_a_transaction_counts() -> None:
    groups = Groups()
    groups.commit_in_transaction(FIRST, offset(5), offset(50, partition=1))
    groups.commit_in_transaction(FIRST, offset(6))

    groups.end_transaction(FIRST, is_commit=True)

    assert (groups.committed(), groups.committed(partition=1)) == (6, 50)


def test_a_commit_after_that_of_the_transaction_stays_and_is_unstable_until_the_marker() -> None:
    groups = Groups()
    groups.commit_in_transaction(FIRST, offset(5))
    groups.commit(offset(2))
    assert (groups.committed(), groups.unstable()) == (2, {ORDERS})

    groups.end_transaction(FIRST, is_commit=True)

    assert (groups.committed(), groups.unstable()) == (2, set())


def test_of_two_transactions_the_later_commit_counts_whichever_ends_last() -> None:
    for order in ((FIRST, SECOND), (SECOND, FIRST)):
        groups = Groups()
        groups.commit_in_transaction(FIRST, offset(5))
        groups.commit_in_transaction(SECOND, offset(6))

        for producer_id in order:
            assert groups.unstable() == {ORDERS}
            groups.end_transaction(producer_id, is_commit=True)

        assert groups.committed() == 6


def test_a_transaction_that_commits_an_offset_again_is_the_later_one() -> None:
    groups = Groups()
    groups.commit_in_transaction(FIRST, offset(5))
    groups.commit_in_transaction(SECOND, offset(6))
    groups.commit_in_transaction(FIRST, offset(7))

    groups.end_transaction(FIRST, is_commit=True)
    groups.end_transaction(SECOND, is_commit=True)

    assert groups.committed() == 7


def test_an_abort_of_the_later_transaction_leaves_the_earlier_one_its_offset() -> None:
    groups = Groups()
    groups.commit_in_transaction(FIRST, offset(5))
    groups.commit_in_transaction(SECOND, offset(6))

    groups.end_transaction(SECOND, is_commit=False)
    groups.end_transaction(FIRST, is_commit=True)

    assert groups.committed() == 5


def test_a_marker_of_a_producer_without_offsets_changes_nothing() -> None:
    groups = Groups()
    groups.commit_in_transaction(FIRST, offset(5))

    groups.end_transaction(SECOND, is_commit=True)

    assert (groups.committed(), groups.unstable()) == (None, {ORDERS})


def test_a_restart_in_an_open_transaction_changes_nothing() -> None:
    groups = Groups()
    groups.commit(offset(1))
    groups.commit_in_transaction(FIRST, offset(5))
    groups.restart()
    assert (groups.committed(), groups.unstable()) == (1, {ORDERS})

    groups.end_transaction(FIRST, is_commit=True)
    groups.restart()

    assert (groups.committed(), groups.unstable()) == (5, set())


def test_a_commit_that_the_log_refuses_is_not_pending() -> None:
    groups = Groups()
    groups.log.fails_with = ErrorCode.INVALID_PRODUCER_EPOCH

    refused = groups.commit_in_transaction(FIRST, offset(5))

    assert refused is ErrorCode.INVALID_PRODUCER_EPOCH
    assert groups.unstable() == set()


def test_too_much_metadata_is_refused_for_its_partition_only() -> None:
    groups = Groups(metadata_max_bytes=3)

    assert groups.commit_in_transaction(
        FIRST, offset(5, metadata="long"), offset(6, partition=1)
    ) == {ORDERS: ErrorCode.OFFSET_METADATA_TOO_LARGE, ("orders", 1): ErrorCode.NONE}
    assert groups.unstable() == {("orders", 1)}


# -- who may commit (KIP-447) ----------------------------------------------------------------------


def test_a_member_of_the_generation_may_commit() -> None:
    groups = Groups()
    (member_id,) = groups.stable()

    assert groups.commit_in_transaction(FIRST, offset(5), member=(member_id, None, 1)) == OK


def test_a_producer_without_group_metadata_may_commit_for_a_group_with_members() -> None:
    groups = Groups()
    groups.stable()

    assert groups.commit_in_transaction(FIRST, offset(5)) == OK


def test_a_member_may_commit_while_its_group_rebalances() -> None:
    groups = Groups()
    (member_id,) = groups.stable()
    groups.join_dynamic()
    assert groups.state == "PreparingRebalance"

    assert groups.commit_in_transaction(FIRST, offset(5), member=(member_id, None, 1)) == OK


def test_a_member_that_has_joined_may_commit_before_it_has_its_assignment() -> None:
    groups = Groups()
    member_id, _ = groups.join_dynamic()
    groups.advance(3)
    assert groups.state == "CompletingRebalance"

    assert groups.commit_in_transaction(FIRST, offset(5), member=(member_id, None, 1)) == OK


def test_a_commit_of_an_earlier_generation_is_refused() -> None:
    groups = Groups()
    (member_id,) = groups.stable()

    refused = groups.commit_in_transaction(FIRST, offset(5), member=(member_id, None, 0))

    assert refused is ErrorCode.ILLEGAL_GENERATION


def test_a_commit_of_a_member_that_was_removed_is_refused() -> None:
    groups = Groups()
    groups.stable()

    refused = groups.commit_in_transaction(FIRST, offset(5), member=("gone", None, 1))

    assert refused is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_commit_of_a_static_member_that_was_replaced_is_refused() -> None:
    groups = Groups()
    joined = groups.join(instance="one")
    groups.advance(3)
    old_id = joined.response.member_id
    groups.sync(old_id, 1, {old_id: b"all"}, group_instance_id="one")
    groups.join(instance="one")

    refused = groups.commit_in_transaction(FIRST, offset(5), member=(old_id, "one", 1))

    assert refused is ErrorCode.FENCED_INSTANCE_ID


def test_a_generation_of_a_group_that_does_not_exist_is_refused() -> None:
    refused = Groups().commit_in_transaction(FIRST, offset(5), member=("m", None, 1))

    assert refused is ErrorCode.ILLEGAL_GENERATION


# -- deletion and expiry ---------------------------------------------------------------------------


def delete(groups: Groups, topic: str = "orders", partition: int = 0) -> None:
    _, decision = groups.shard.offset_requests.delete(GROUP, [(topic, partition)])
    groups.runtime.carry_out(decision)


@pytest.mark.parametrize("restarts", [False, True])
def test_a_deleted_offset_does_not_come_back_with_the_marker(restarts: bool) -> None:
    groups = Groups()
    groups.commit_in_transaction(FIRST, offset(5))

    delete(groups)
    if restarts:
        groups.restart()
    assert groups.unstable() == set()
    groups.end_transaction(FIRST, is_commit=True)

    assert groups.committed() is None


def test_a_deleted_group_does_not_come_back_with_the_marker() -> None:
    groups = Groups()
    groups.commit(offset(1))
    groups.commit_in_transaction(FIRST, offset(5), offset(6, partition=1))

    results, decision = groups.shard.delete_groups([GROUP])
    groups.runtime.carry_out(decision)
    groups.end_transaction(FIRST, is_commit=True)

    assert results == {GROUP: ErrorCode.NONE}
    assert groups.shard.groups == {}
    assert (groups.committed(), groups.committed(partition=1)) == (None, None)


def test_pending_offsets_of_deleted_topics_are_forgotten() -> None:
    groups = Groups()
    groups.commit_in_transaction(FIRST, offset(5, topic_id=OLD_TOPIC), offset(6, "payments"))
    ids = {"orders": NEW_TOPIC, "payments": OLD_TOPIC}

    groups.runtime.carry_out(groups.shard.forget_deleted_topics(ids.get))
    groups.end_transaction(FIRST, is_commit=True)

    assert (groups.committed("orders"), groups.committed("payments")) == (None, 6)


def test_neither_an_offset_nor_its_group_expires_while_a_transaction_has_it_pending() -> None:
    groups = Groups(retention_ms=1000)
    groups.commit(offset(1))
    groups.commit_in_transaction(FIRST, offset(5))
    groups.advance(2)
    expire(groups)
    assert groups.committed() == 1

    groups.end_transaction(FIRST, is_commit=False)
    expire(groups)

    assert groups.committed() is None
    assert groups.shard.groups == {}


def test_a_group_with_nothing_but_pending_offsets_does_not_expire() -> None:
    groups = Groups(retention_ms=1000)
    groups.commit_in_transaction(FIRST, offset(5))
    groups.advance(2)

    expire(groups)

    assert GROUP in groups.shard.groups
    assert groups.unstable() == {ORDERS}
