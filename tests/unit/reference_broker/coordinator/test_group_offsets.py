from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.group_records import OffsetCommitKey, OffsetCommitValue
from pyk.reference_broker.coordinator.group.shard import GroupShard
from pyk.reference_broker.coordinator.records import CoordinatorRecord
from pyk.reference_broker.coordinator.shard_log import LoggedRecords
from support.groups import GROUP, Groups, Waiting, offset

DAY = 24 * 3600
OK = {("orders", 0): ErrorCode.NONE}


def expire(groups: Groups) -> None:
    groups.runtime.carry_out(groups.shard.offset_requests.expire(groups.moment()))


def test_a_committed_offset_survives_a_restart() -> None:
    groups = Groups()
    (member_id,) = groups.stable()

    assert groups.commit(offset(7), member=(member_id, None, 1)) == OK
    groups.restart()

    assert groups.committed() == 7


def test_anybody_may_commit_for_a_group_without_members() -> None:
    groups = Groups()

    assert groups.commit(offset(7, metadata="note", leader_epoch=3)) == OK

    committed = groups.shard.offsets.of_group(GROUP)["orders"][0]
    assert (committed.offset, committed.metadata, committed.leader_epoch) == (7, "note", 3)
    assert groups.state == "Empty"


def test_only_members_may_commit_for_a_group_that_has_members() -> None:
    groups = Groups()
    groups.stable()

    assert groups.commit(offset(7)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert groups.commit(offset(7), member=("invented", None, 1)) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_commit_of_another_generation_is_refused() -> None:
    groups = Groups()
    (member_id,) = groups.stable()

    assert groups.commit(offset(7), member=(member_id, None, 0)) is ErrorCode.ILLEGAL_GENERATION


def test_a_commit_while_the_leader_assigns_is_refused() -> None:
    groups = Groups()
    member_id, _ = groups.join_dynamic()
    groups.advance(3)

    refused = groups.commit(offset(7), member=(member_id, None, 1))

    assert refused is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_member_may_still_commit_while_others_rejoin() -> None:
    groups = Groups()
    leader, follower = groups.stable(2)
    groups.join(leader)

    assert groups.commit(offset(7), member=(follower, None, 1)) == OK


def test_a_commit_prolongs_the_session_as_a_heartbeat_does() -> None:
    groups = Groups()
    (member_id,) = groups.stable(session_s=10)

    groups.advance(9)
    groups.commit(offset(7), member=(member_id, None, 1))
    groups.advance(9)

    assert groups.heartbeat(member_id, 1) is ErrorCode.NONE


@pytest.mark.parametrize(
    ("version", "error"),
    [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)],
)
def test_a_member_of_a_group_that_does_not_exist_is_refused(version: int, error: ErrorCode) -> None:
    assert Groups().commit(offset(7), member=("a", None, 1), version=version) is error


def test_metadata_that_is_too_long_is_refused_and_the_rest_is_committed() -> None:
    groups = Groups(metadata_max_bytes=4)

    committed = groups.commit(offset(1, metadata="12345"), offset(2, partition=1, metadata="1234"))

    assert committed == {
        ("orders", 0): ErrorCode.OFFSET_METADATA_TOO_LARGE,
        ("orders", 1): ErrorCode.NONE,
    }
    assert groups.committed() is None


def test_a_commit_that_cannot_be_written_changes_nothing() -> None:
    groups = Groups()
    groups.commit(offset(1))
    groups.log.fails_with = ErrorCode.KAFKA_STORAGE_ERROR

    assert groups.commit(offset(2)) is ErrorCode.NOT_COORDINATOR

    assert groups.committed() == 1


def test_offsets_can_be_deleted_but_not_of_topics_the_group_reads() -> None:
    groups = Groups()
    groups.commit(offset(1, "orders"), offset(2, "payments"))
    groups.stable(topics=["orders"])

    results, decision = groups.shard.offset_requests.delete(GROUP, [("orders", 0), ("payments", 0)])
    groups.runtime.carry_out(decision)

    assert results["orders", 0] is ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    assert results["payments", 0] is ErrorCode.NONE
    assert groups.committed("orders") == 1
    assert groups.committed("payments") is None


@pytest.mark.parametrize(
    ("protocol_type", "result"),
    [("connect", ErrorCode.NON_EMPTY_GROUP), ("consumer", ErrorCode.NONE)],
)
def test_offsets_of_a_group_with_members_can_be_deleted_if_these_are_consumers(
    protocol_type: str, result: ErrorCode
) -> None:
    groups = Groups()
    groups.commit(offset(1, "payments"))
    groups.stable(topics=["orders"], protocol_type=protocol_type)

    deleted = Waiting(
        groups.runtime.ask(
            lambda shard, _: shard.offset_requests.delete(GROUP, [("payments", 0)]),
            lambda code: code,
        )
    )

    answer = deleted.response
    assert (answer if isinstance(answer, ErrorCode) else answer["payments", 0]) is result


def test_expired_offsets_may_need_more_than_one_batch() -> None:
    groups = Groups(retention_ms=1000)
    groups.commit(*[offset(1, partition=number) for number in range(50)])
    groups.advance(2)
    groups.log.max_batch_bytes = 500

    expire(groups)

    assert len(groups.log.batches) > 2
    groups.restart()
    assert groups.shard.groups == {}


def test_offsets_of_a_deleted_topic_are_deleted() -> None:
    groups = Groups()
    groups.commit(offset(1, "orders"), offset(2, "payments"))

    existing = {"payments": UUID(int=2)}
    groups.runtime.carry_out(groups.shard.forget_deleted_topics(existing.get))
    groups.restart()

    assert groups.committed("orders") is None
    assert groups.committed("payments") == 2


def test_offsets_of_an_earlier_topic_of_that_name_are_forgotten_and_others_kept() -> None:
    groups = Groups()
    groups.commit(
        offset(1, "orders", partition=0, topic_id=UUID(int=1)),
        offset(2, "orders", partition=1, topic_id=UUID(int=2)),
        offset(3, "orders", partition=2),
    )
    groups.restart()

    existing = {"orders": UUID(int=2)}
    groups.runtime.carry_out(groups.shard.forget_deleted_topics(existing.get))
    groups.restart()

    found = groups.shard.offsets.of_group(GROUP)["orders"]
    assert {number: each.offset for number, each in found.items()} == {1: 2, 2: 3}


def test_only_an_empty_group_can_be_deleted() -> None:
    groups = Groups()
    (member_id,) = groups.stable()
    groups.commit(offset(1), member=(member_id, None, 1))
    assert groups.shard.delete_groups([GROUP])[0] == {GROUP: ErrorCode.NON_EMPTY_GROUP}
    groups.leave((member_id, None))

    results, decision = groups.shard.delete_groups([GROUP, "other"])
    groups.runtime.carry_out(decision)

    assert results == {GROUP: ErrorCode.NONE, "other": ErrorCode.GROUP_ID_NOT_FOUND}
    groups.restart()
    assert groups.shard.groups == {}
    assert groups.committed() is None


# -- expiry (KIP-211) ---------------------------------------------------------------------------


def test_offsets_without_a_group_expire_counting_from_their_commit() -> None:
    groups = Groups(retention_ms=7 * DAY * 1000)
    groups.commit(offset(1))
    groups.advance(6 * DAY)
    groups.commit(offset(2, partition=1))

    groups.advance(DAY)
    expire(groups)

    assert groups.committed() is None
    assert groups.committed(partition=1) == 2


def test_a_group_keeps_its_offsets_while_it_has_members() -> None:
    groups = Groups(retention_ms=1000)
    (member_id,) = groups.stable(session_s=1000)
    groups.commit(offset(1), member=(member_id, None, 1))

    groups.advance(900)
    expire(groups)

    assert groups.committed() == 1


def test_a_group_forgets_the_offsets_of_topics_that_it_no_longer_reads() -> None:
    groups = Groups(retention_ms=1000)
    (member_id,) = groups.stable(topics=["orders"], session_s=1000)
    groups.commit(offset(1, "orders"), offset(2, "payments"), member=(member_id, None, 1))
    expire(groups)
    assert groups.committed("payments") == 2

    groups.advance(900)
    expire(groups)

    assert groups.committed("orders") == 1
    assert groups.committed("payments") is None


@pytest.mark.parametrize(
    "more",
    [{"protocol_type": "connect"}, {"metadata": b"of no subscription"}],
    ids=["not consumers", "unknown topics"],
)
def test_a_group_whose_topics_are_not_known_keeps_all_offsets_while_it_has_members(
    more: dict[str, Any],
) -> None:
    groups = Groups(retention_ms=1000)
    (member_id,) = groups.stable(session_s=1000, **more)
    groups.commit(offset(1, "payments"), member=(member_id, None, 1))

    groups.advance(900)
    expire(groups)

    assert groups.committed("payments") == 1


def test_a_group_keeps_all_offsets_while_it_rebalances() -> None:
    groups = Groups(retention_ms=1000)
    leader, _ = groups.stable(2, topics=["orders"], session_s=1000, rebalance_s=1000)
    groups.commit(offset(1, "payments"), member=(leader, None, 1))
    groups.join(leader, topics=["orders"], session_s=1000, rebalance_s=1000)

    groups.advance(900)
    expire(groups)

    assert groups.state == "PreparingRebalance"
    assert groups.committed("payments") == 1


def test_a_member_that_is_about_to_join_keeps_its_group() -> None:
    groups = Groups(retention_ms=1000)
    groups.commit(offset(1))
    groups.advance(2)
    groups.join()

    expire(groups)

    assert groups.committed() is None
    assert GROUP in groups.shard.groups


def test_a_group_with_an_offset_left_does_not_expire() -> None:
    groups = Groups(retention_ms=1000)
    groups.commit(offset(1), offset(2, partition=1))
    groups.advance(2)
    groups.commit(offset(3, partition=1))

    expire(groups)
    groups.restart()

    assert (groups.committed(), groups.committed(partition=1)) == (None, 3)
    assert GROUP in groups.shard.groups


def test_an_empty_group_counts_from_when_its_last_member_left() -> None:
    groups = Groups(retention_ms=10_000)
    (member_id,) = groups.stable()
    groups.commit(offset(1), member=(member_id, None, 1))
    groups.advance(9)
    groups.leave((member_id, None))

    groups.advance(9)
    expire(groups)
    assert groups.committed() == 1
    groups.advance(1)
    expire(groups)

    assert groups.committed() is None
    assert groups.shard.groups == {}
    assert groups.shard.offsets._groups == {}


def test_a_commit_may_ask_for_no_retention_at_all() -> None:
    groups = Groups()
    groups.commit(offset(1), retention_ms=0, version=4)

    expire(groups)

    assert groups.committed() is None


def test_a_commit_may_ask_for_a_retention_of_its_own() -> None:
    groups = Groups()
    groups.commit(offset(1), retention_ms=5000, version=4)
    groups.restart()

    groups.advance(4)
    expire(groups)
    assert groups.committed() == 1
    groups.advance(1)
    expire(groups)

    assert groups.committed() is None


# -- records ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("refused", "answered"),
    [
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_a_commit_that_the_log_refuses_is_answered_in_terms_of_coordinators(
    refused: ErrorCode, answered: ErrorCode
) -> None:
    groups = Groups()
    groups.log.fails_with = refused

    assert groups.commit(offset(1)) is answered


def test_records_are_kafkas() -> None:
    groups = Groups()
    groups.commit(offset(258, "t", 1))

    ((key, value),) = groups.log.batches[-1]

    assert key == b"\x00\x01" + b"\x00\x07readers" + b"\x00\x01t" + b"\x00\x00\x00\x01"
    assert value is not None
    assert value[:14] == b"\x00\x04" + (258).to_bytes(8, "big") + b"\xff\xff\xff\xff"


def test_records_of_a_kind_that_is_not_known_are_skipped() -> None:
    groups = Groups()
    groups.commit(offset(1))
    groups.log.entries.insert(0, LoggedRecords([(b"\x00\x63unknown", b"\x00\x00")]))

    groups.restart()

    assert groups.committed() == 1


def test_a_record_of_the_legacy_type_is_an_offset_too() -> None:
    shard: GroupShard = Groups().shard
    key = OffsetCommitKey(group=GROUP, topic="orders", partition=0)
    value = OffsetCommitValue(offset=4, commit_timestamp=9)
    encoded_key, encoded_value = CoordinatorRecord(key, value, 0).encode()
    assert encoded_key is not None

    shard.replay(shard.decode(b"\x00\x00" + encoded_key[2:], encoded_value))

    assert shard.offsets.of_group(GROUP)["orders"][0].offset == 4
