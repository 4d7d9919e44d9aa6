"""Conclusions from versions, clocks, topics and groups."""

from __future__ import annotations

import pytest

from pyk.clients import (
    AclOperation,
    ConsumerGroupDescription,
    GroupAuthorizationFailedError,
    GroupIdNotFoundError,
    GroupListing,
    KafkaError,
    MemberDescription,
    PartitionLag,
    ShareGroupDescription,
    SharePartitionOffset,
    TopicAuthorizationFailedError,
    TopicPartition,
    UnknownServerError,
)
from pyk.clients.errors.needed_acls import needed_acl
from pyk.command_line.checks.cluster_state import (
    NEEDED,
    clock_findings,
    controller_clock_findings,
    controller_findings,
    version_findings,
)
from pyk.command_line.checks.finding import Finding, Status, ok
from pyk.command_line.checks.groups import group_findings, is_rebalancing, listed_finding
from pyk.command_line.checks.topics import (
    PartitionState,
    TopicState,
    offsets_findings,
    topic_findings,
)
from pyk.protocol import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.versions import VersionRange

OLD = {api: api.stable_versions for api in NEEDED}


def shape(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(one.check, one.status.value) for one in findings]


@pytest.mark.parametrize(
    ("extra", "release"),
    [
        ([], "0.11"), ([ApiKey.DELETE_GROUPS], "1.1"), ([ApiKey.DESCRIBE_CLUSTER], "2.8"),
        ([ApiKey.DESCRIBE_CLUSTER, ApiKey.CONSUMER_GROUP_HEARTBEAT], "3.7"),
    ],
)  # fmt: skip
def test_the_apis_of_a_broker_tell_its_release(extra: list[ApiKey], release: str) -> None:
    apis = OLD | {api: api.versions for api in extra}

    assert list(version_findings("shop:9092", apis)) == [
        ok("versions", "shop:9092", f"{len(apis)} APIs, those of Kafka {release} or newer")
    ]


def test_a_broker_without_a_version_in_common_fails() -> None:
    apis = OLD | {ApiKey.FETCH: VersionRange(0, 3)}

    (finding,) = version_findings("shop:9092", apis)

    assert (finding.status, finding.seen) == (Status.FAILED, "no version in common of Fetch")


@pytest.mark.parametrize(
    ("controller", "status"), [(0, Status.OK), (-1, Status.WARNING), (7, Status.WARNING)]
)
def test_a_cluster_needs_a_controller(controller: int, status: Status) -> None:
    assert [one.status for one in controller_findings(controller, {0, 1})] == [status]


@pytest.mark.parametrize(
    ("newest", "statuses"),
    [(None, []), (1_000, [Status.OK]), (61_000, [Status.OK]), (61_001, [Status.WARNING])],
)
def test_records_from_the_future_are_found(newest: int | None, statuses: list[Status]) -> None:
    assert [one.status for one in clock_findings("orders", newest, 1_000)] == statuses


@pytest.mark.parametrize(
    ("theirs", "seen"),
    [
        (None, []), (100_000, ["it agrees with that of this machine"]),
        (160_000, ["it agrees with that of this machine"]),
        (160_001, ["it is 60 s ahead of that of this machine"]),
        (30_000, ["it is 70 s behind that of this machine"]),
    ],
)  # fmt: skip
def test_the_clock_of_the_controller_is_compared(theirs: int | None, seen: list[str]) -> None:
    assert [one.seen for one in controller_clock_findings(theirs, 100_000)] == seen


def partition(leader: int = 0, replicas: int = 3, in_sync: int = 3) -> PartitionState:
    return PartitionState(0, leader, tuple(range(replicas)), tuple(range(in_sync)))


READ, WRITE = 1 << AclOperation.READ, 1 << AclOperation.WRITE


@pytest.mark.parametrize(
    ("state", "minimum", "expected"),
    [
        (partition(), 2, [("leaders", "ok"), ("replicas", "ok")]),
        (partition(leader=-1), None, [("leaders", "failed")]),
        (partition(leader=-1, in_sync=0), 2, [("leaders", "failed"), ("replicas", "ok")]),
        (partition(in_sync=2), 2, [("leaders", "ok"), ("replicas", "warning")]),
        (partition(in_sync=1), 2, [("leaders", "ok"), ("replicas", "failed")]),
        (partition(replicas=1, in_sync=1), 2, [("leaders", "ok"), ("replicas", "failed")]),
    ],
)
def test_partitions_need_leaders_and_replicas_in_sync(
    state: PartitionState, minimum: int | None, expected: list[tuple[str, str]]
) -> None:
    topic = TopicState("orders", 0, (state,))

    assert shape(list(topic_findings(topic, minimum, {}))) == expected


def test_one_partition_with_fewer_replicas_than_demanded_is_enough_to_fail() -> None:
    topic = TopicState("orders", 0, (partition(), partition(replicas=1, in_sync=1)))

    finding = next(one for one in topic_findings(topic, 2, {}) if one.check == "replicas")

    assert finding.seen == "min.insync.replicas is 2, and there are fewer replicas"


def test_as_many_replicas_as_demanded_are_enough() -> None:
    topic = TopicState("orders", 0, (partition(replicas=2, in_sync=2),))

    finding = next(one for one in topic_findings(topic, 2, {}) if one.check == "replicas")

    assert finding.status is Status.OK


@pytest.mark.parametrize(
    ("lost", "told"), [(10, "0, 1, 2, 3, 4, 5, 6, 7, 8, 9"), (11, "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 …")]
)
def test_ten_partitions_without_a_leader_are_named(lost: int, told: str) -> None:
    partitions = tuple(PartitionState(number, -1, (0,), ()) for number in range(lost))

    finding = next(iter(topic_findings(TopicState("orders", 0, partitions), None, {})))

    assert finding.seen.endswith(f"without a leader: {told}")


@pytest.mark.parametrize(
    ("code", "told"),
    [(ErrorCode.INVALID_TOPIC_EXCEPTION, "INVALID_TOPIC_EXCEPTION"), (9999, "error 9999")],
)
def test_an_error_of_a_topic_is_told_by_its_name_or_number(code: int, told: str) -> None:
    (finding,) = topic_findings(TopicState("orders", code), None, {})

    assert finding.seen == told


def test_too_few_replicas_are_told_from_replicas_that_are_behind() -> None:
    topic = TopicState("orders", 0, (partition(replicas=1, in_sync=1),))

    finding = list(topic_findings(topic, 2, {}))[1]

    assert finding.seen == "min.insync.replicas is 2, and there are fewer replicas"


@pytest.mark.parametrize(
    ("operations", "statuses"),
    [
        (READ | WRITE, ["ok", "ok"]), (READ, ["ok", "warning"]), (0, ["warning", "warning"]),
        (-(2**31), []),
    ],
)  # fmt: skip
def test_what_the_client_may_do_is_told(operations: int, statuses: list[str]) -> None:
    topic = TopicState("orders", 0, (partition(),), operations)

    found = [one for one in topic_findings(topic, None, {}) if one.check == "authorization"]

    assert [one.status.value for one in found] == statuses


@pytest.mark.parametrize(
    ("code", "check", "advice"),
    [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "topic", "did you mean 'orders'?"),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "authorization",
         needed_acl(ApiKey.METADATA, ErrorCode.TOPIC_AUTHORIZATION_FAILED)),
        (ErrorCode.LEADER_NOT_AVAILABLE, "topic", "try again later"),
        (12_345, "topic", "try again later"),
    ],
)  # fmt: skip
def test_a_topic_that_cannot_be_described_is_explained(code: int, check: str, advice: str) -> None:
    (finding,) = topic_findings(TopicState("ordrs", code), None, {"orders": None})

    assert (finding.check, finding.status, finding.advice) == (check, Status.FAILED, advice)


def test_an_unknown_topic_without_a_likeness_may_be_created() -> None:
    topic = TopicState("x", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    assert next(topic_findings(topic, None, {})).advice == "create it: pyk topic create x"


def test_the_topic_of_groups_is_told_only_if_it_keeps_them_from_working() -> None:
    works = TopicState("__consumer_offsets", 0, (partition(),))
    lost = TopicState("__consumer_offsets", 0, (partition(leader=-1),))
    absent = TopicState("__consumer_offsets", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    (finding,) = offsets_findings(lost, 1)

    assert (finding.check, finding.status) == ("leaders", Status.FAILED)
    assert finding.meaning.startswith("groups can neither commit nor get members: ")
    assert [*offsets_findings(works, 1), *offsets_findings(absent, None)] == []


ORDERS = TopicPartition("orders", 0)


def described(
    state: str,
    *assignments: tuple[TopicPartition, ...],
    kind: str = "consumer",
    operations: frozenset[AclOperation] | None = None,
) -> ConsumerGroupDescription:
    members = tuple(
        MemberDescription(f"m{number}", None, "c", "/h", one)
        for number, one in enumerate(assignments)
    )
    return ConsumerGroupDescription(
        "billing", state, kind, "range", 0, members, "classic", operations
    )


@pytest.mark.parametrize(
    ("group", "lags", "expected"),
    [
        (described("Stable", (ORDERS,)), {ORDERS: PartitionLag(4, 10)},
         [("group", "ok"), ("lag", "ok")]),
        (described("Empty"), {}, [("group", "warning"), ("lag", "warning")]),
        (described("PreparingRebalance", ()), {ORDERS: PartitionLag(4, 10)},
         [("group", "failed"), ("lag", "ok")]),
        (described("Reconciling", ()), {ORDERS: PartitionLag(4, 10)},
         [("group", "warning"), ("lag", "ok")]),
        (described("Stable", (), kind="connect"), {}, [("group", "failed")]),
        (described("Stable", (ORDERS,), operations=frozenset({AclOperation.DESCRIBE})),
         {ORDERS: PartitionLag(4, 10)},
         [("group", "ok"), ("authorization", "warning"), ("lag", "ok")]),
        (described("Stable", (ORDERS,), operations=frozenset({AclOperation.READ})),
         {ORDERS: PartitionLag(4, 10)},
         [("group", "ok"), ("authorization", "ok"), ("lag", "ok")]),
        (described("Stable", (ORDERS,), ()), {ORDERS: PartitionLag(None, 10)},
         [("group", "ok"), ("lag", "ok"), ("assignment", "warning")]),
        (GroupIdNotFoundError("none"), {}, [("group", "warning")]),
        (GroupAuthorizationFailedError("no"), {}, [("authorization", "failed")]),
        (UnknownServerError("no"), {}, [("group", "failed")]),
    ],
)  # fmt: skip
def test_groups_are_judged_by_state_members_and_lag(
    group: ConsumerGroupDescription | KafkaError,
    lags: dict[TopicPartition, PartitionLag],
    expected: list[tuple[str, str]],
) -> None:
    assert shape(list(group_findings("billing", group, lags))) == expected


def test_the_lag_of_a_group_is_that_of_all_partitions_with_a_committed_offset() -> None:
    lags = {
        TopicPartition("orders", 0): PartitionLag(2, 5),
        TopicPartition("orders", 1): PartitionLag(None, 7),
        TopicPartition("orders", 2): PartitionLag(3, 4),
    }

    found = group_findings("billing", described("Stable"), lags)

    assert [one.seen for one in found if one.check == "lag"] == ["4 offsets"]


def test_a_share_group_without_offsets_has_not_begun_to_read() -> None:
    described = ShareGroupDescription("billing", "Stable", 1, 1, 0, ())
    behind = SharePartitionOffset(start_offset=2, leader_epoch=0, lag=3)

    begun = list(group_findings("billing", described, {ORDERS: behind}))
    new = list(group_findings("billing", described, {}))

    assert [one.seen for one in new if one.check == "lag"] == ["it has not begun to read"]
    assert [one.seen for one in begun if one.check == "lag"] == ["3 offsets"]


def test_a_consumer_group_without_offsets_begins_where_its_consumers_say() -> None:
    found = group_findings("billing", described("Stable"), {})

    assert [one.seen for one in found if one.check == "lag"] == ["it has committed no offsets"]


def test_a_rebalance_tells_how_long_it_was_watched() -> None:
    rebalancing = described("PreparingRebalance", (), ())

    finding = next(iter(group_findings("billing", rebalancing, {}, 10.2)))

    assert is_rebalancing(rebalancing)
    assert finding.seen == "PreparingRebalance for 10 s, 2 members"


def test_a_group_that_only_the_list_knows_is_told_by_its_type() -> None:
    error = GroupIdNotFoundError("none")
    listed = GroupListing("billing", "", "Stable", "streams", 0)

    assert listed_finding("billing", error, listed).seen == "its type is streams"
    assert listed_finding("billing", error, None).seen == "it does not exist"


@pytest.mark.parametrize(
    ("protocol_type", "group_type"),
    [("consumer", "classic"), ("consumer", "consumer"), ("", "classic"), ("", "")],
)
def test_a_group_of_consumers_whose_lag_cannot_be_read_is_not_of_another_type(
    protocol_type: str, group_type: str
) -> None:
    listed = GroupListing("billing", protocol_type, "Stable", group_type, 0)

    finding = listed_finding("billing", UnknownServerError("no leader"), listed)

    assert (finding.status, finding.seen) == (Status.FAILED, "no leader")


def test_a_classic_group_of_other_programs_is_told_by_its_protocol_type() -> None:
    listed = GroupListing("billing", "connect", "Stable", "classic", 0)

    finding = listed_finding("billing", UnknownServerError("no leader"), listed)

    assert finding.seen == "its type is connect"


def test_a_topic_that_the_client_may_not_see_hides_the_lag_of_a_group() -> None:
    finding = listed_finding("billing", TopicAuthorizationFailedError("not allowed"), None)

    assert (finding.status, finding.seen) == (Status.WARNING, "not allowed")
    assert finding.advice == needed_acl(ApiKey.LIST_OFFSETS, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
