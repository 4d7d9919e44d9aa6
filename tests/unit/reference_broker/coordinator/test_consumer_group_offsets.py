"""Consumer groups that commit offsets, keep them with another type, and are deleted."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.coordinator.group.consumer.migration import MigrationPolicy
from pyk.reference_broker.errors import ApiError
from support.consumer_members import ConsumerGroups, configured, error_of
from support.groups import GROUP, offset

# -- offsets -------------------------------------------------------------------------------------


def committed_by(groups: ConsumerGroups, member_id: str, epoch: int, **more: Any) -> Any:
    one = offset(5, topic_id=groups.image.topics["orders"].topic_id, **more)
    result = groups.commit(one, member=(member_id, None, epoch), version=9)
    return result if isinstance(result, ErrorCode) else result["orders", one.partition]


def test_a_member_commits_in_its_epoch(groups: ConsumerGroups) -> None:
    groups.join_as("a", "orders")

    assert committed_by(groups, "a", 2) is ErrorCode.NONE
    assert committed_by(groups, "a", 3) is ErrorCode.STALE_MEMBER_EPOCH
    assert committed_by(groups, "a", 1) is ErrorCode.STALE_MEMBER_EPOCH
    assert committed_by(groups, "x", 2) is ErrorCode.UNKNOWN_MEMBER_ID
    assert committed_by(groups, "", -1) is ErrorCode.UNKNOWN_MEMBER_ID
    too_old = groups.commit(offset(5), member=("a", None, 2), version=8)
    assert too_old is ErrorCode.UNSUPPORTED_VERSION


def test_an_older_epoch_commits_what_the_member_has_had_since(groups: ConsumerGroups) -> None:
    groups.join_as("a", "orders")
    groups.join_as("b", "orders")
    groups.reconcile("a", "b")

    assert committed_by(groups, "a", 2, partition=0) is ErrorCode.NONE
    assert committed_by(groups, "a", 2, partition=2) is ErrorCode.STALE_MEMBER_EPOCH


def test_in_a_transaction_a_stale_epoch_is_an_illegal_generation(groups: ConsumerGroups) -> None:
    groups.join_as("a", "orders")

    fresh = groups.commit_in_transaction(7, offset(5), member=("a", None, 2))
    assert fresh["orders", 0] is ErrorCode.NONE
    assert not groups.commit_in_transaction(7, offset(5))["orders", 0]
    stale = groups.commit_in_transaction(7, offset(5), member=("a", None, 3))
    assert stale is ErrorCode.ILLEGAL_GENERATION


def test_offsets_of_topics_without_subscribers_expire() -> None:
    groups = ConsumerGroups(retention_ms=1)
    groups.create("orders", 4)
    groups.create("payments", 1)
    groups.commit(offset(1), offset(1, topic="payments"))
    groups.join_as("a", "orders")

    for _ in range(15):
        groups.advance(40)
        groups.beat("a", 2)

    assert (groups.committed(), groups.committed("payments")) == (1, None)


# -- other types ---------------------------------------------------------------------------------


def test_an_empty_group_changes_its_type_and_keeps_its_offsets(groups: ConsumerGroups) -> None:
    groups.commit(offset(3))
    groups.join_as("a", "orders")
    assert groups.describe().group_state == "Stable"
    groups.leave_as("a")

    groups.join_dynamic()
    groups.restart()

    assert groups.state == "Empty"
    assert groups.committed() == 3
    with pytest.raises(ApiError):
        groups.describe()


def test_a_group_with_members_keeps_its_type_without_migration(
    groups: ConsumerGroups,
) -> None:
    configured(groups, migration_policy=MigrationPolicy.DISABLED)
    groups.stable()

    assert error_of(groups.join_as("a", "orders")) is ErrorCode.GROUP_ID_NOT_FOUND

    others = ConsumerGroups(migration_policy=MigrationPolicy.DISABLED)
    others.create("orders", 1)
    others.join_as("a", "orders")
    assert others.join().error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert others.heartbeat("a", 2) is ErrorCode.UNKNOWN_MEMBER_ID
    assert others.sync("a", 2).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_only_an_empty_group_is_deleted(groups: ConsumerGroups) -> None:
    def delete() -> ErrorCode:
        results: dict[str, ErrorCode] = {}
        groups.runtime.ask(
            lambda shard, _: shard.delete_groups([GROUP]), lambda code: {GROUP: code}
        ).when_done(results.update)
        return results[GROUP]

    groups.join_as("a", subscribed_topic_regex="orders.*")
    assert delete() is ErrorCode.NON_EMPTY_GROUP
    groups.leave_as("a")

    assert delete() is ErrorCode.NONE
    assert groups.shard.groups == {}
    groups.restart()
    assert groups.shard.groups == {}
