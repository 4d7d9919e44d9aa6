"""The last push of each client is kept, within bounds."""

from __future__ import annotations

from uuid import UUID

from pyk.reference_broker.client_metrics.latest_pushes import ClientMetrics, LatestPushes
from pyk.reference_broker.client_metrics.subscription import Attribute

CLIENT = {
    Attribute.CLIENT_ID: "app",
    Attribute.CLIENT_SOFTWARE_NAME: "pyk",
    Attribute.CLIENT_SOFTWARE_VERSION: "1",
}


def push(number: int, data: bytes = b"") -> ClientMetrics:
    return ClientMetrics(UUID(int=number), CLIENT, data, is_terminating=False)


def test_a_push_takes_the_place_of_the_last_one_of_its_client() -> None:
    pushes = LatestPushes()

    for number, data in ((1, b"old"), (2, b"other"), (1, b"new")):
        pushes.keep(push(number, data))

    assert [(each.client_instance_id.int, each.data) for each in pushes.all()] == [
        (2, b"other"),
        (1, b"new"),
    ]


def test_the_oldest_make_room_in_count() -> None:
    pushes = LatestPushes(max_pushes=2)

    for number in (1, 2, 3):
        pushes.keep(push(number))

    assert [each.client_instance_id.int for each in pushes.all()] == [2, 3]


def test_the_oldest_make_room_in_bytes() -> None:
    pushes = LatestPushes(max_bytes=2_100)

    for number in (1, 2, 2, 3):
        pushes.keep(push(number, bytes(1_000)))

    assert [each.client_instance_id.int for each in pushes.all()] == [2, 3]
