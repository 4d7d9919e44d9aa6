"""What a broker remembers of clients that push, and when it forgets them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from uuid import UUID

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.metadata_records import ConfigRecord
from pyk.protocol.messages.push_telemetry import PushTelemetryRequest
from pyk.reference_broker.client_metrics.subscription import Attribute
from pyk.reference_broker.client_metrics.telemetry import Telemetry
from pyk.reference_broker.controller.image import CLIENT_METRICS_RESOURCE, MetadataImage
from pyk.reference_broker.errors import ApiError

CLIENT = {
    Attribute.CLIENT_ID: "app",
    Attribute.CLIENT_SOFTWARE_NAME: "pyk",
    Attribute.CLIENT_SOFTWARE_VERSION: "1",
    Attribute.CLIENT_SOURCE_ADDRESS: "127.0.0.1",
    Attribute.CLIENT_SOURCE_PORT: "5000",
}
ID = UUID(int=7)


class Connection:
    """A connection that a test ends."""

    connection_id = 3

    def __init__(self) -> None:
        self.listeners: list[Callable[[], object]] = []

    def when_lost(self, listener: Callable[[], object]) -> None:
        self.listeners.append(listener)


@pytest.fixture
def image() -> MetadataImage:
    return MetadataImage()


@pytest.fixture
def telemetry(image: MetadataImage) -> Telemetry:
    return Telemetry(image, 1_000, lambda: ID)


def configure(image: MetadataImage, subscription: str, name: str, value: str) -> None:
    image.replay(
        ConfigRecord(
            resource_type=CLIENT_METRICS_RESOURCE,
            resource_name=subscription,
            name=name,
            value=value,
        )
    )


def test_a_client_is_forgotten_with_its_connection_and_its_last_push_is_kept(
    telemetry: Telemetry,
) -> None:
    connection = Connection()
    asked = telemetry.subscriptions_for(UUID(int=0), CLIENT, connection, 0)
    push = PushTelemetryRequest(
        client_instance_id=ID, subscription_id=asked.subscription_id, metrics=b"\x0a\x00"
    )
    telemetry.pushed(push, CLIENT, connection, 1)
    with pytest.raises(ApiError) as early:
        telemetry.subscriptions_for(ID, CLIENT, connection, 2)

    for listener in connection.listeners:
        listener()

    assert early.value.code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert not telemetry.subscriptions_for(ID, CLIENT, Connection(), 3).error_code
    (kept,) = telemetry.pushes.all()
    assert (kept.client_id, kept.data, kept.metrics) == ("app", b"\x0a\x00", ())


@pytest.mark.parametrize("is_last", [False, True])
def test_a_push_is_kept_with_the_word_whether_it_is_the_last(
    telemetry: Telemetry, is_last: bool
) -> None:
    asked = telemetry.subscriptions_for(UUID(int=0), CLIENT, None, 0)
    push = PushTelemetryRequest(
        client_instance_id=ID,
        subscription_id=asked.subscription_id,
        terminating=is_last,
        metrics=b"\x0a\x00",
    )

    telemetry.pushed(push, CLIENT, None, 1)

    (kept,) = telemetry.pushes.all()
    assert kept.is_terminating is is_last


def test_a_connection_with_many_clients_is_listened_to_once(telemetry: Telemetry) -> None:
    connection = Connection()

    for number in range(2, 100):
        telemetry.subscriptions_for(UUID(int=number), CLIENT, connection, 0)

    assert len(connection.listeners) == 1


def test_a_stored_subscription_that_cannot_be_read_is_left_out(
    telemetry: Telemetry, image: MetadataImage, caplog: pytest.LogCaptureFixture
) -> None:
    configure(image, "bad", "match", "client_id=[")
    configure(image, "good", "metrics", "a.")

    with caplog.at_level(logging.WARNING):
        asked = telemetry.subscriptions_for(UUID(int=0), CLIENT, None, 0)

    assert asked.requested_metrics == ["a."]
    assert "Ignored the subscription bad to client metrics" in caplog.text


def test_a_subscription_that_is_removed_asks_for_nothing(
    telemetry: Telemetry, image: MetadataImage
) -> None:
    configure(image, "some", "metrics", "a.")
    before = telemetry.subscriptions_for(ID, CLIENT, None, 0)
    image.replay(
        ConfigRecord(
            resource_type=CLIENT_METRICS_RESOURCE,
            resource_name="some",
            name="metrics",
            value=None,
        )
    )

    after = telemetry.subscriptions_for(ID, CLIENT, None, 1)

    assert (before.requested_metrics, after.requested_metrics) == (["a."], [])


def code_of(call: Callable[[], object]) -> ErrorCode:
    try:
        call()
    except ApiError as error:
        return error.code
    return ErrorCode.NONE


def test_a_client_may_ask_early_once_after_its_subscription_was_unknown(
    telemetry: Telemetry,
) -> None:
    asked = telemetry.subscriptions_for(ID, CLIENT, None, 0)
    push = PushTelemetryRequest(
        client_instance_id=ID, subscription_id=asked.subscription_id + 1, metrics=b""
    )

    refused = code_of(lambda: telemetry.pushed(push, CLIENT, None, 1))
    answers = [
        code_of(lambda now=now: telemetry.subscriptions_for(ID, CLIENT, None, now))  # type: ignore[misc]
        for now in (2, 3)
    ]

    assert refused is ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    assert answers == [ErrorCode.NONE, ErrorCode.THROTTLING_QUOTA_EXCEEDED]


@pytest.mark.parametrize(
    ("size", "code"), [(1_000, ErrorCode.NONE), (1_001, ErrorCode.TELEMETRY_TOO_LARGE)]
)
def test_a_push_has_at_most_as_many_bytes_as_clients_are_told(
    telemetry: Telemetry, size: int, code: ErrorCode
) -> None:
    asked = telemetry.subscriptions_for(ID, CLIENT, None, 0)
    push = PushTelemetryRequest(
        client_instance_id=ID, subscription_id=asked.subscription_id, metrics=b"\0" * size
    )

    assert code_of(lambda: telemetry.pushed(push, CLIENT, None, 1)) is code


def test_subscriptions_are_found_behind_configurations_of_other_resources(
    image: MetadataImage, telemetry: Telemetry
) -> None:
    image.replay(
        ConfigRecord(resource_type=4, resource_name="", name="log.retention.ms", value="1")
    )
    configure(image, "all", "metrics", "a.")

    asked = telemetry.subscriptions_for(ID, CLIENT, None, 0)

    assert asked.requested_metrics == ["a."]
    assert asked.delta_temporality
