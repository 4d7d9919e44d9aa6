from __future__ import annotations

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.controller.configs import ConfigOperation
from pyk.reference_broker.controller.image import (
    BROKER_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    ConfigChanged,
)
from support.controllers import Controllers, topic

SET, DELETE = ConfigOperation.SET, ConfigOperation.DELETE
APPEND, SUBTRACT = ConfigOperation.APPEND, ConfigOperation.SUBTRACT


@pytest.fixture
def controllers() -> Controllers:
    controllers = Controllers()
    controllers.create(topic("orders", retention_ms="1000"))
    return controllers


def configured(controllers: Controllers) -> dict[str, str]:
    return controllers.shard.image.config(TOPIC_RESOURCE, "orders")


def test_single_values_change_and_the_others_stay(controllers: Controllers) -> None:
    altered = controllers.alter(TOPIC_RESOURCE, "orders", (SET, "segment.ms", "9000"))

    assert altered.error_code == ErrorCode.NONE
    assert configured(controllers) == {"retention.ms": "1000", "segment.ms": "9000"}
    assert controllers.changes[-1] == ConfigChanged(TOPIC_RESOURCE, "orders")
    controllers.restart()
    assert configured(controllers)["segment.ms"] == "9000"


def test_a_deleted_value_goes_back_to_the_default(controllers: Controllers) -> None:
    controllers.alter(TOPIC_RESOURCE, "orders", (DELETE, "retention.ms", None))

    assert configured(controllers) == {}


def test_lists_grow_and_shrink(controllers: Controllers) -> None:
    controllers.alter(TOPIC_RESOURCE, "orders", (APPEND, "cleanup.policy", "compact,delete"))
    assert configured(controllers)["cleanup.policy"] == "delete,compact"

    controllers.alter(TOPIC_RESOURCE, "orders", (SUBTRACT, "cleanup.policy", "delete"))

    assert configured(controllers)["cleanup.policy"] == "compact"


@pytest.mark.parametrize(
    ("operation", "items", "found"),
    [
        (APPEND, "compact,,", "delete,compact"),
        (APPEND, ",", "delete"),
        (SUBTRACT, "", "delete"),
        (SUBTRACT, ",delete", ""),
    ],
)
def test_empty_items_at_the_end_do_not_count(
    controllers: Controllers, operation: ConfigOperation, items: str, found: str
) -> None:
    controllers.alter(TOPIC_RESOURCE, "orders", (SET, "cleanup.policy", "delete"))

    altered = controllers.alter(TOPIC_RESOURCE, "orders", (operation, "cleanup.policy", items))

    assert altered.error_code == ErrorCode.NONE
    assert configured(controllers)["cleanup.policy"] == found


def test_replacing_drops_topics_that_are_not_named(controllers: Controllers) -> None:
    controllers.replace(TOPIC_RESOURCE, "orders", {"segment.ms": "9000"})

    assert configured(controllers) == {"segment.ms": "9000"}


def test_validating_changes_nothing(controllers: Controllers) -> None:
    altered = controllers.alter(
        TOPIC_RESOURCE, "orders", (SET, "retention.ms", "1"), validate_only=True
    )

    assert altered.error_code == ErrorCode.NONE
    assert configured(controllers) == {"retention.ms": "1000"}


@pytest.mark.parametrize(
    ("kind", "name", "operation", "error"),
    [
        (TOPIC_RESOURCE, "nope", (SET, "retention.ms", "1"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC_RESOURCE, "nope", (SET, "retention.ms", "soon"), ErrorCode.INVALID_CONFIG),
        (TOPIC_RESOURCE, "nope", (APPEND, "retention.ms", "1"), ErrorCode.INVALID_CONFIG),
        (TOPIC_RESOURCE, "..", (SET, "retention.ms", "1"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TOPIC_RESOURCE, "orders", (SET, "cleanup.policy", "compact,"), ErrorCode.INVALID_CONFIG),
        (TOPIC_RESOURCE, "orders", (SET, "cleanup.policy", ","), ErrorCode.INVALID_CONFIG),
        (TOPIC_RESOURCE, "orders", (APPEND, "cleanup.policy", ""), ErrorCode.INVALID_CONFIG),
        (BROKER_RESOURCE, "", (SET, "log.cleanup.policy", ",delete"), ErrorCode.INVALID_REQUEST),
        (TOPIC_RESOURCE, "orders", (SET, "nope", "1"), ErrorCode.INVALID_CONFIG),
        (TOPIC_RESOURCE, "orders", (SET, "retention.ms", "soon"), ErrorCode.INVALID_CONFIG),
        (TOPIC_RESOURCE, "orders", (SET, "retention.ms", None), ErrorCode.INVALID_REQUEST),
        (TOPIC_RESOURCE, "orders", (APPEND, "retention.ms", "1"), ErrorCode.INVALID_CONFIG),
        (BROKER_RESOURCE, "7", (SET, "log.retention.ms", "1"), ErrorCode.INVALID_REQUEST),
        (BROKER_RESOURCE, "x", (SET, "log.retention.ms", "1"), ErrorCode.INVALID_REQUEST),
        (BROKER_RESOURCE, "0", (SET, "log.dirs", "/etc"), ErrorCode.INVALID_REQUEST),
        (BROKER_RESOURCE, "", (SET, "listeners", "${jndi:ldap://x}"), ErrorCode.INVALID_REQUEST),
        (BROKER_RESOURCE, "0", (SET, "listeners", "PLAINTEXT://x:1"), ErrorCode.INVALID_REQUEST),
        (BROKER_RESOURCE, "", (SET, "ssl.keystore.type", "JKS"), ErrorCode.INVALID_REQUEST),
        (BROKER_RESOURCE, "0", (SET, "max.connections", "-1"), ErrorCode.INVALID_REQUEST),
        (BROKER_RESOURCE, "0", (APPEND, "foo.bar", "1"), ErrorCode.INVALID_CONFIG),
        (BROKER_RESOURCE, "0", (SET, "sasl.enabled.mechanisms", "X"), ErrorCode.INVALID_REQUEST),
        (
            BROKER_RESOURCE,
            "0",
            (SET, "listener.name.inner.sasl.enabled.mechanisms", "X"),
            ErrorCode.INVALID_REQUEST,
        ),
        (BROKER_RESOURCE, "", (SET, "log.cleaner.threads", "0"), ErrorCode.INVALID_REQUEST),
        (16, "group", (SET, "consumer.session.timeout.ms", "1"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_configurations_that_may_not_change_are_refused(
    controllers: Controllers,
    kind: int,
    name: str,
    operation: tuple[ConfigOperation, str, str | None],
    error: ErrorCode,
) -> None:
    before = len(controllers.log)

    refused = controllers.alter(kind, name, operation)

    assert refused.error_code == error
    assert len(controllers.log) == before


def test_one_name_may_not_change_twice_at_once(controllers: Controllers) -> None:
    refused = controllers.alter(
        TOPIC_RESOURCE, "orders", (SET, "retention.ms", "1"), (SET, "retention.ms", "2")
    )

    assert refused.error_code == ErrorCode.INVALID_REQUEST


def test_a_broker_and_all_brokers_are_configured_apart(controllers: Controllers) -> None:
    controllers.alter(BROKER_RESOURCE, "0", (SET, "log.retention.ms", "1"))
    controllers.alter(BROKER_RESOURCE, "", (SET, "log.retention.ms", "2"))

    assert controllers.shard.image.config(BROKER_RESOURCE, "0") == {"log.retention.ms": "1"}
    everywhere = controllers.shard.image.config(BROKER_RESOURCE, "")
    assert everywhere == {"min.insync.replicas": "1", "log.retention.ms": "2"}


def test_directories_are_not_cordoned_at_an_older_metadata_version(
    controllers: Controllers,
) -> None:
    controllers.shard.image.features["metadata.version"] = 29

    refused = controllers.alter(BROKER_RESOURCE, "0", (SET, "cordoned.log.dirs", "*"))

    assert refused.error_code == ErrorCode.INVALID_CONFIG
    assert "requires metadata.version >= 4.3-IV0" in refused.error_message
    controllers.shard.image.features["metadata.version"] = 30
    accepted = controllers.alter(BROKER_RESOURCE, "0", (SET, "cordoned.log.dirs", "*"))
    assert accepted.error_code == ErrorCode.NONE


def test_a_broker_keeps_unknown_configurations(controllers: Controllers) -> None:
    altered = controllers.alter(BROKER_RESOURCE, "0", (SET, "foo.bar", "1"))

    assert altered.error_code == ErrorCode.NONE
    assert controllers.shard.image.config(BROKER_RESOURCE, "0") == {"foo.bar": "1"}


def test_an_operation_that_does_not_exist_is_refused(controllers: Controllers) -> None:
    operation: ConfigOperation = 9  # type: ignore[assignment]

    refused = controllers.alter(TOPIC_RESOURCE, "orders", (operation, "retention.ms", "1"))

    assert refused.error_code == ErrorCode.INVALID_REQUEST


def test_topic_cannot_be_compacted_later_than_at_the_latest(controllers: Controllers) -> None:
    controllers.alter(TOPIC_RESOURCE, "orders", (SET, "max.compaction.lag.ms", "5"))

    altered = controllers.alter(TOPIC_RESOURCE, "orders", (SET, "min.compaction.lag.ms", "10"))
    (created,) = controllers.create(
        topic("late", min_compaction_lag_ms="10", max_compaction_lag_ms="5")
    )

    for refused in (altered, created):
        assert refused.error_code == ErrorCode.INVALID_CONFIG
        assert "min.compaction.lag.ms (10) > max.compaction.lag.ms (5)" in refused.error_message
    assert "min.compaction.lag.ms" not in configured(controllers)


def test_a_group_has_configurations_of_its_own_before_it_exists(controllers: Controllers) -> None:
    altered = controllers.alter(
        GROUP_RESOURCE, "readers", (SET, "consumer.session.timeout.ms", "50000")
    )

    assert altered.error_code == ErrorCode.NONE
    own = controllers.shard.image.config(GROUP_RESOURCE, "readers")
    assert own == {"consumer.session.timeout.ms": "50000"}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("session.timeout.ms", "50000", "Unknown group config name: session.timeout.ms"),
        (
            "consumer.session.timeout.ms",
            "44999",
            (
                "consumer.session.timeout.ms must be greater than or equal to "
                "group.consumer.min.session.timeout.ms"
            ),
        ),
        (
            "consumer.heartbeat.interval.ms",
            "15001",
            (
                "consumer.heartbeat.interval.ms must be less than or equal to "
                "group.consumer.max.heartbeat.interval.ms"
            ),
        ),
        (
            "share.session.timeout.ms",
            "60001",
            (
                "share.session.timeout.ms must be less than or equal to "
                "group.share.max.session.timeout.ms"
            ),
        ),
        (
            "share.record.lock.duration.ms",
            "14999",
            (
                "share.record.lock.duration.ms must be greater than or equal to "
                "group.share.min.record.lock.duration.ms"
            ),
        ),
        (
            "share.delivery.count.limit",
            "11",
            (
                "share.delivery.count.limit must be less than or equal to "
                "group.share.max.delivery.count.limit"
            ),
        ),
        (
            "share.partition.max.record.locks",
            "4001",
            (
                "share.partition.max.record.locks must be less than or equal to "
                "group.share.max.partition.max.record.locks"
            ),
        ),
    ],
)
def test_a_group_stays_within_the_limits_of_the_broker(
    controllers: Controllers, name: str, value: str, message: str
) -> None:
    altered = controllers.alter(GROUP_RESOURCE, "readers", (SET, name, value))

    assert (altered.error_code, altered.error_message) == (ErrorCode.INVALID_CONFIG, message)


@pytest.mark.parametrize(
    ("name", "value", "is_valid"),
    [
        ("share.auto.offset.reset", "earliest", True),
        ("share.auto.offset.reset", "by_duration:PT1H", True),
        ("share.auto.offset.reset", "by_duration:-PT1H", False),
        ("share.auto.offset.reset", "by_duration:", False),
        ("share.auto.offset.reset", "PT1H", False),
        ("share.auto.offset.reset", "none", False),
        ("share.isolation.level", "read_committed", True),
        ("share.isolation.level", "serializable", False),
        ("share.renew.acknowledge.enable", "false", True),
        ("share.renew.acknowledge.enable", "no", False),
        ("share.assignment.interval.ms", "0", True),
    ],
)
def test_share_groups_have_configurations_of_their_own(
    controllers: Controllers, name: str, value: str, is_valid: bool
) -> None:
    altered = controllers.alter(GROUP_RESOURCE, "workers", (SET, name, value))

    expected = ErrorCode.NONE if is_valid else ErrorCode.INVALID_CONFIG
    assert altered.error_code == expected, altered.error_message


def test_there_are_no_configurations_for_all_groups(controllers: Controllers) -> None:
    altered = controllers.alter(GROUP_RESOURCE, "", (SET, "consumer.session.timeout.ms", "50000"))

    assert altered.error_code == ErrorCode.INVALID_REQUEST
