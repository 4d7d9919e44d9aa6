"""One class for each error code of Kafka, with facts that callers can rely on."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest

from pyk.clients import errors
from pyk.clients.errors import (
    AuthenticationError,
    AuthorizationError,
    BootstrapError,
    BrokerError,
    BufferExhaustedError,
    ConfigurationError,
    ConnectionAttempt,
    CorruptRecordError,
    KafkaError,
    KafkaTimeoutError,
    NodeDisconnectedError,
    NodeUnavailableError,
    NotLeaderOrFollowerError,
    ProducerFencedError,
    RequestTimeoutError,
    SeveralErrors,
    Stage,
    StateError,
    TopicAlreadyExistsError,
    TransactionAbortableError,
    UnknownCodeError,
    UnknownTopicOrPartitionError,
    error_for,
)
from pyk.clients.errors.base import copy_to_raise
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode

CODES = [code for code in ErrorCode if code != ErrorCode.NONE]
WORDED_OTHERWISE = {
    ErrorCode.CORRUPT_MESSAGE: "CorruptRecordError",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "InvalidTopicError",
    ErrorCode.MESSAGE_TOO_LARGE: "RecordTooLargeError",
    ErrorCode.NETWORK_EXCEPTION: "NetworkError",
    ErrorCode.REQUEST_TIMED_OUT: "RequestTimeoutError",
}
CLASSES = [
    found
    for name in errors.__all__
    if inspect.isclass(found := getattr(errors, name)) and issubclass(found, KafkaError)
]


def class_name(code: ErrorCode) -> str:
    camel_case = "".join(word.capitalize() for word in code.name.split("_"))
    suffixed = camel_case if camel_case.endswith("Error") else f"{camel_case}Error"
    return WORDED_OTHERWISE.get(code, suffixed)


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
def test_every_code_has_a_class_of_its_name(code: ErrorCode) -> None:
    error = error_for(code)

    assert type(error).__name__ == class_name(code)
    assert getattr(errors, class_name(code)) is type(error)
    assert class_name(code) in errors.__all__
    assert error.code == code
    assert error.retriable == code.retriable
    assert code.name in str(error)


def test_every_class_says_what_it_means_in_one_sentence() -> None:
    for found in CLASSES:
        first_line = (found.__doc__ or "").splitlines()[0]
        assert first_line.endswith((".", ":")), found


def test_all_classes_are_listed() -> None:
    listed = set(CLASSES)
    pending = [KafkaError]
    while pending:
        for child in pending.pop().__subclasses__():
            if child.__module__.startswith("pyk.clients.errors"):
                assert child in listed, child
                pending.append(child)


def test_a_code_of_the_future_is_an_error_that_is_not_retried() -> None:
    error = error_for(31_000)

    assert isinstance(error, UnknownCodeError)
    assert error.code == 31_000
    assert not error.retriable
    assert "31000" in str(error)


def test_no_error_is_no_error() -> None:
    with pytest.raises(ValueError, match="code 0"):
        error_for(0)


@pytest.mark.parametrize(
    ("error", "facts"),
    [
        # retriable, fatal, transaction requires abort, definite
        (error_for(3), (True, False, False, True)),
        (error_for(6), (True, False, False, False)),
        (error_for(7), (True, False, False, False)),
        (error_for(-1), (False, False, True, False)),
        (error_for(19), (True, False, False, True)),
        (error_for(20), (True, False, False, False)),
        (error_for(45), (False, False, True, True)),
        (error_for(90), (False, True, False, True)),
        (error_for(120), (False, False, True, True)),
        (NodeUnavailableError("x"), (True, False, False, True)),
        (NodeDisconnectedError("x"), (True, False, False, False)),
        (RequestTimeoutError("x"), (True, False, False, False)),
        (KafkaTimeoutError("x"), (True, False, False, False)),
        (BufferExhaustedError("x"), (True, False, False, True)),
        (ConfigurationError("x"), (False, False, False, True)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_facts(error: KafkaError, facts: tuple[bool, bool, bool, bool]) -> None:
    assert (error.retriable, error.fatal, error.txn_requires_abort, error.definite) == facts


def test_an_error_can_be_more_certain_than_its_class() -> None:
    assert RequestTimeoutError("x", definite=True).definite
    assert not RequestTimeoutError.definite


@pytest.mark.parametrize(
    ("error", "parent"),
    [
        (error_for(29), AuthorizationError),
        (error_for(58), AuthenticationError),
        (error_for(7), TimeoutError),
        (KafkaTimeoutError("x"), TimeoutError),
        (BufferExhaustedError("x"), KafkaTimeoutError),
        (ConfigurationError("x"), ValueError),
        (StateError("x"), RuntimeError),
        (BootstrapError("x"), ConnectionError),
        (NodeUnavailableError("x"), BrokerError),
    ],
)
def test_errors_are_caught_by_their_base_classes(
    error: KafkaError, parent: type[Exception]
) -> None:
    assert isinstance(error, parent)


def test_an_error_names_its_topic_partition_and_node_once() -> None:
    error = error_for(3, topic="orders", partition=2, node_id=1)
    assert str(error).endswith("(topic 'orders', partition 2, node 1)")

    spelled_out = UnknownTopicOrPartitionError(
        "no topic 'orders' at node 1", topic="orders", node_id=1
    )
    assert str(spelled_out) == "no topic 'orders' at node 1"


@pytest.mark.parametrize(
    ("api_key", "code", "needed"),
    [
        (ApiKey.PRODUCE, ErrorCode.TOPIC_AUTHORIZATION_FAILED, "WRITE"),
        (ApiKey.FETCH, ErrorCode.TOPIC_AUTHORIZATION_FAILED, "READ"),
        (ApiKey.TXN_OFFSET_COMMIT, ErrorCode.GROUP_AUTHORIZATION_FAILED, "READ"),
        (
            ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
            "DESCRIBE on the cluster",
        ),
        (
            ApiKey.ALTER_CLIENT_QUOTAS,
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
            "ALTER_CONFIGS on the cluster",
        ),
        (ApiKey.DELETE_GROUPS, ErrorCode.GROUP_AUTHORIZATION_FAILED, "DELETE"),
        (ApiKey.OFFSET_COMMIT, ErrorCode.GROUP_AUTHORIZATION_FAILED, "READ"),
        (ApiKey.DELETE_RECORDS, ErrorCode.TOPIC_AUTHORIZATION_FAILED, "DELETE"),
        (ApiKey.END_TXN, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "WRITE"),
    ],
)
def test_a_refusal_names_the_acl_that_the_request_needs(
    api_key: ApiKey, code: ErrorCode, needed: str
) -> None:
    assert str(error_for(code, "Refused.", api_key=api_key)).endswith(
        f": Refused; it needs an ACL for {needed}"
    )


def test_the_inner_objects_of_a_broker_are_not_shown() -> None:
    message = "Request Request(processor=2, session=Session@9973851) needs ALTER permission."

    error = error_for(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, message)

    assert "Session" not in str(error)


def test_an_error_of_something_else_names_no_acl() -> None:
    error = error_for(ErrorCode.NOT_LEADER_OR_FOLLOWER, api_key=ApiKey.PRODUCE)

    assert "ACL" not in str(error)


def test_the_words_of_a_broker_are_kept_short_and_harmless() -> None:
    error = error_for(42, "a\r\nb\x1b[31m" + "x" * 10_000)

    assert str(error).isprintable()
    assert len(str(error)) < 350
    assert "a\\r\\nb" in str(error)


EXAMPLES = [
    error_for(3, topic="orders", partition=2, node_id=1),
    error_for(7, "slow"),
    error_for(31_000),
    CorruptRecordError("bad", topic="orders", partition=0, offset=17),
    NodeDisconnectedError("gone", node_id=1, definite=True),
    NodeUnavailableError(
        "down", attempts=[ConnectionAttempt("a:1", "10.0.0.1:1", Stage.TCP, "refused", "is it up?")]
    ),
    BootstrapError("none", attempts=[ConnectionAttempt("a:1", None, Stage.DNS, "unknown")]),
    SeveralErrors("1 of 2 failed", {"a": error_for(36)}, {"b": 1}),
]


@pytest.mark.parametrize("again", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy])
@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_errors_survive_pickle_and_copy(error: KafkaError, again: object) -> None:
    twin = again(error)  # type: ignore[operator]

    assert type(twin) is type(error)
    assert str(twin) == str(error)
    for fact in ("code", "retriable", "definite", "topic", "partition", "offset", "node_id"):
        assert getattr(twin, fact) == getattr(error, fact)
    assert getattr(twin, "attempts", None) == getattr(error, "attempts", None)


def test_every_class_can_be_made_of_a_message_and_pickled() -> None:
    for found in CLASSES:
        if found is not SeveralErrors:
            assert str(pickle.loads(pickle.dumps(found("what happened")))) == "what happened"


def test_a_bootstrap_error_names_every_address_and_how_far_it_came() -> None:
    error = BootstrapError(
        "none of the bootstrap servers led to the cluster",
        attempts=[
            ConnectionAttempt("kafka:9092", "10.0.0.1:9092", Stage.TCP, "refused", "is it up?"),
            ConnectionAttempt("other:9092", None, Stage.DNS, "no such name"),
        ],
    )

    assert str(error).splitlines() == [
        "none of the bootstrap servers led to the cluster",
        "  kafka:9092: TCP at 10.0.0.1:9092: refused; is it up?",
        "  other:9092: DNS: no such name",
    ]


def test_the_text_of_very_many_errors_names_the_first_ones_and_counts_the_others() -> None:
    errors = {f"topic-{number}": error_for(36) for number in range(1000)}

    text = str(SeveralErrors("1000 of 1000 failed", errors, {}))

    assert text.startswith("1000 of 1000 failed; topic-0: TOPIC_ALREADY_EXISTS (36)")
    assert "topic-9:" in text
    assert "topic-10:" not in text
    assert text.endswith("; and 990 more, in .errors")


def test_several_errors_can_be_taken_apart_or_caught_as_one() -> None:
    several = SeveralErrors(
        "2 of 3 failed", {"a": error_for(36, topic="a"), "b": error_for(17, topic="b")}, {"c": 1}
    )
    caught: list[object] = []

    try:
        try:
            raise several
        except* TopicAlreadyExistsError as group:
            caught += group.exceptions
    except KafkaError as rest:
        caught.append(rest)

    first, rest = caught
    assert isinstance(first, TopicAlreadyExistsError)
    assert isinstance(rest, SeveralErrors)
    assert set(rest.errors) == {"b"}
    assert rest.results == {"c": 1}


def test_several_errors_are_as_retriable_as_the_worst_of_them() -> None:
    passing, lasting = error_for(41), error_for(36)

    assert SeveralErrors("", {"a": passing}, {}).retriable
    assert not SeveralErrors("", {"a": passing, "b": lasting}, {}).retriable


def test_fatal_errors_and_errors_that_abort_a_transaction_differ() -> None:
    assert ProducerFencedError.fatal
    assert not ProducerFencedError.txn_requires_abort
    assert TransactionAbortableError.txn_requires_abort
    assert not NotLeaderOrFollowerError.txn_requires_abort


@pytest.mark.parametrize("code", CODES)
def test_the_message_of_a_code_is_one_line_without_markup(code: ErrorCode) -> None:
    message = str(error_for(code))

    assert "``" not in message
    assert "\n" not in message


def test_the_errors_of_a_wrong_member_name_the_options_to_look_at() -> None:
    assert "session_timeout_ms" in str(error_for(ErrorCode.INVALID_SESSION_TIMEOUT))
    assert "group.min.session.timeout.ms" in str(error_for(ErrorCode.INVALID_SESSION_TIMEOUT))
    assert "group_instance_id" in str(error_for(ErrorCode.FENCED_INSTANCE_ID))


def test_a_failed_disk_promises_no_other_leader_where_there_is_none() -> None:
    text = str(error_for(ErrorCode.KAFKA_STORAGE_ERROR))

    assert "unless another replica leads, it needs repair" in text


def test_a_copy_to_raise_has_a_traceback_of_its_own_and_the_same_cause() -> None:
    error = error_for(3, topic="orders", partition=2)
    error.__cause__ = OSError("gone")

    copied = copy_to_raise(error)
    with pytest.raises(UnknownTopicOrPartitionError, match="orders"):
        raise copied

    assert copied.__cause__ is error.__cause__
    assert copied.__traceback__ is not None
    assert error.__traceback__ is None


@pytest.mark.parametrize(
    ("api_key", "code", "advice"),
    [
        (
            ApiKey.JOIN_GROUP,
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            "must have a partition_assignment_strategy in common; groups of consumers, share",
        ),
        (
            ApiKey.CONSUMER_GROUP_HEARTBEAT,
            ErrorCode.GROUP_ID_NOT_FOUND,
            "; groups of consumers, share groups and streams groups each need a group_id of their",
        ),
        (
            ApiKey.SHARE_GROUP_HEARTBEAT,
            ErrorCode.GROUP_ID_NOT_FOUND,
            "; groups of consumers, share groups and streams groups each need a group_id of their",
        ),
        (
            ApiKey.CONSUMER_GROUP_HEARTBEAT,
            ErrorCode.UNRELEASED_INSTANCE_ID,
            "; close that member first, or give each its own group_instance_id",
        ),
        (
            ApiKey.HEARTBEAT,
            ErrorCode.NOT_COORDINATOR,
            "; if that lasts, an advertised address leads to the wrong broker",
        ),
    ],
)
def test_a_member_that_cannot_join_is_told_what_to_do(
    api_key: ApiKey, code: ErrorCode, advice: str
) -> None:
    error = error_for(code, "Not so.", group_id="g", api_key=api_key)

    assert advice in str(error)
    assert str(error).startswith(f"{code.name} ({int(code)}): Not so; ")


def test_advice_for_members_is_not_given_to_others() -> None:
    error = error_for(ErrorCode.GROUP_ID_NOT_FOUND, api_key=ApiKey.DELETE_GROUPS)

    assert "group_id of their own" not in str(error)
