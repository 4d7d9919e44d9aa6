"""What responses about groups, transactions and users become, and which numbers are accepted."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pyk.clients import TopicPartition
from pyk.clients.admin import (
    arguments,
    group_listings,
    groups,
    scram_users,
    share_groups,
    streams_groups,
    transactions,
)
from pyk.clients.errors import (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
)
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import consumer_protocol as consumer
from pyk.protocol.messages import describe_groups as classic
from pyk.protocol.messages import describe_producers as producers
from pyk.protocol.messages import describe_transactions as described_transactions
from pyk.protocol.messages import describe_user_scram_credentials as users
from pyk.protocol.messages import share_group_describe as shares
from pyk.protocol.messages import streams_group_describe as streams
from pyk.protocol.persisted import encode_versioned

ORDERS = TopicPartition("orders", 0)
DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
known_or_not = pytest.mark.parametrize(("sent", "told"), [(0, 0), (7, 7), (-1, None)])


# -- groups ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("types", "version", "sent"),
    [
        (["classic"], 4, []),
        (["Classic", "share"], 4, []),
        (["classic"], 5, ["classic"]),
        (["share"], 4, ["share"]),
        ([], 4, []),
    ],
)
def test_brokers_before_types_list_their_classic_groups(
    types: list[str], version: int, sent: list[str]
) -> None:
    assert group_listings.list_request([], types, version).types_filter == sent


@pytest.mark.parametrize(
    ("states", "types", "version"),
    [
        ([], [], None),
        (["Stable"], [], 4),
        ([], ["classic"], None),
        (["Stable"], ["classic"], 4),
        ([], ["share"], 5),
        (["Stable"], ["share"], 5),
    ],
)
def test_groups_are_listed_by_the_first_version_with_the_filters(
    states: list[str], types: list[str], version: int | None
) -> None:
    assert group_listings.first_list_version(states, types) == version


def member_of(protocol_type: str, assignment: bytes) -> Any:
    member = classic.DescribedGroupMember(member_id="m", member_assignment=assignment)
    group = classic.DescribedGroup(
        group_id="g", group_state="Stable", protocol_type=protocol_type, members=[member]
    )
    response = classic.DescribeGroupsResponse(groups=[group])
    return groups.classic_group(groups.described_groups(response, 1)["g"])


def test_the_assignment_of_a_member_is_read_where_the_protocol_is_that_of_consumers() -> None:
    topic = consumer.TopicPartition(topic="orders", partitions=[0])
    assigned = encode_versioned(consumer.ConsumerProtocolAssignment(assigned_partitions=[topic]), 0)

    found = [member_of(kind, assigned).members[0].assignment for kind in ("consumer", "connect")]

    assert found == [(ORDERS,), ()]


def test_the_assignment_of_a_newer_member_is_read_as_far_as_it_is_known() -> None:
    topic = consumer.TopicPartition(topic="orders", partitions=[0])
    known = encode_versioned(consumer.ConsumerProtocolAssignment(assigned_partitions=[topic]), 3)

    newer = b"\0\x63" + known[2:] + b"more"

    assert member_of("consumer", newer).members[0].assignment == (ORDERS,)


@pytest.mark.parametrize("assignment", [b"", b"\0\0\xff"], ids=["none yet", "of somebody else"])
def test_an_assignment_that_cannot_be_read_is_empty(assignment: bytes) -> None:
    assert member_of("consumer", assignment).members[0].assignment == ()


@pytest.mark.parametrize(("protocol_type", "is_simple"), [("", True), ("consumer", False)])
def test_a_group_that_only_has_offsets_is_simple(protocol_type: str, is_simple: bool) -> None:
    assert member_of(protocol_type, b"").is_simple is is_simple


def test_a_group_that_cannot_be_described_stays_an_error_as_a_classic_one() -> None:
    error = GroupAuthorizationFailedError("no")

    assert groups.classic_group(error) is error


def test_each_share_group_is_described_or_has_its_error() -> None:
    code = ErrorCode.GROUP_AUTHORIZATION_FAILED
    response = shares.ShareGroupDescribeResponse(
        groups=[
            shares.DescribedGroup(group_id="g", group_state="Stable"),
            shares.DescribedGroup(group_id="secret", error_code=code),
        ]
    )

    found: Any = share_groups.described_share_groups(response, 1)

    assert found["g"].state == "Stable"
    assert isinstance(found["secret"], GroupAuthorizationFailedError)


def test_partitions_of_a_topic_go_into_one_entry() -> None:
    request = share_groups.alter_offsets_request(
        "g", {TopicPartition("orders", number): number + 10 for number in range(2)}
    )

    (topic,) = request.topics
    assert [(one.partition_index, one.start_offset) for one in topic.partitions] == [
        (0, 10),
        (1, 11),
    ]


def streams_group(**fields: Any) -> Any:
    group = streams.DescribedGroup(group_id="g", **fields)
    response = streams.StreamsGroupDescribeResponse(groups=[group])
    return streams_groups.described_streams_groups(response, 1)["g"]


def test_a_streams_group_without_a_topology_has_no_epoch_of_it() -> None:
    found = streams_group(topology=None)

    assert (found.topology_epoch, found.subtopologies) == (None, ())


def test_a_size_that_the_coordinator_of_a_streams_group_does_not_know_is_none() -> None:
    sized = streams.TopicInfo(name="a", partitions=3, replication_factor=2)
    unsized = streams.TopicInfo(name="b", partitions=0, replication_factor=0)
    part = streams.Subtopology(subtopology_id="0", state_changelog_topics=[sized, unsized])

    found = streams_group(topology=streams.Topology(epoch=4, subtopologies=[part]))

    (one,) = found.subtopologies
    sizes = {
        t.name: (t.partitions, t.replication_factor) for t in one.state_changelog_topics.values()
    }
    assert found.topology_epoch == 4
    assert sizes == {"a": (3, 2), "b": (None, None)}


@pytest.mark.parametrize(("endpoint", "told"), [(None, None), (("h", 7), "h:7")])
def test_the_endpoint_of_a_member_of_a_streams_group(endpoint: Any, told: str | None) -> None:
    given = None if endpoint is None else streams.Endpoint(host=endpoint[0], port=endpoint[1])

    (member,) = streams_group(members=[streams.Member(member_id="m", user_endpoint=given)]).members

    assert member.user_endpoint == told


def test_the_error_of_a_streams_group() -> None:
    assert isinstance(
        streams_group(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED),
        GroupAuthorizationFailedError,
    )


# -- transactions ----------------------------------------------------------------------------------


@known_or_not
def test_the_start_of_a_transaction(sent: int, told: int | None) -> None:
    one = described_transactions.TransactionState(
        transactional_id="t", transaction_state="Ongoing", transaction_start_time_ms=sent
    )
    response = described_transactions.DescribeTransactionsResponse(transaction_states=[one])

    found: Any = transactions.described_transactions(response, 1)["t"]

    assert found.transaction_start_time_ms == told


@known_or_not
def test_the_coordinator_epoch_and_the_open_transaction_of_a_producer(
    sent: int, told: int | None
) -> None:
    one = producers.ProducerState(coordinator_epoch=sent, current_txn_start_offset=sent)
    partition = producers.PartitionResponse(
        partition_index=0, error_message=None, active_producers=[one]
    )
    topic = producers.TopicResponse(name="orders", partitions=[partition])

    found: Any = transactions.described_producers(
        producers.DescribeProducersResponse(topics=[topic])
    )

    (state,) = found[ORDERS]
    assert (state.coordinator_epoch, state.current_transaction_start_offset) == (told, told)


# -- users -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "text"),
    [("'alice' is no user", r"^[^(]*\(91\): 'alice' is no user$"), (None, r"\(user 'alice'\)$")],
)
def test_the_error_of_a_user_names_it_once(message: str | None, text: str) -> None:
    result = users.DescribeUserScramCredentialsResult(
        user="alice", error_code=ErrorCode.RESOURCE_NOT_FOUND, error_message=message
    )
    response = users.DescribeUserScramCredentialsResponse(results=[result])

    assert re.search(text, str(scram_users.described(response)["alice"]))


def test_the_error_of_all_users_names_none() -> None:
    response = users.DescribeUserScramCredentialsResponse(error_code=DENIED)

    with pytest.raises(ClusterAuthorizationFailedError) as raised:
        scram_users.described(response)

    assert "(user" not in str(raised.value)


# -- the lowest numbers ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("check", "lowest"),
    [
        (lambda number: arguments.checked_positive(number, "n"), 1),
        (lambda number: arguments.checked_milliseconds(number, "n"), 0),
        (lambda number: arguments.checked_offsets({ORDERS: number})[ORDERS].offset, 0),
    ],
    ids=["a count", "milliseconds", "an offset"],
)
def test_the_lowest_number_is_accepted_and_none_below(check: Any, lowest: int) -> None:
    assert check(lowest) == lowest
    with pytest.raises(ValueError, match=f"must be {lowest} or more"):
        check(lowest - 1)


def test_true_is_no_number() -> None:
    with pytest.raises(TypeError):
        arguments.checked_pause(True)
    with pytest.raises(TypeError):
        arguments.checked_numbers(True, "a broker id")
