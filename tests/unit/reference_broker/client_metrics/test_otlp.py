"""Metrics of clients are read from the form of OpenTelemetry."""

from __future__ import annotations

import struct
from random import Random

import pytest

from pyk.reference_broker.client_metrics import otlp
from pyk.reference_broker.client_metrics.otlp import InvalidMetricsError, Metric, decode_metrics

GAUGE, SUM, HISTOGRAM = 5, 7, 9
DELTA = b"\x10\x01"


def varint(number: int) -> bytes:
    more = []
    while number > 0x7F:
        more.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*more, number])


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def fixed(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 1) + content


def text_attribute(key: str, value: str, number: int = 7) -> bytes:
    return field(number, field(1, key.encode()) + field(2, field(1, value.encode())))


def metric(name: str, kind: int, *points: bytes, more: bytes = b"") -> bytes:
    values = b"".join(field(1, point) for point in points) + more
    return field(2, field(1, name.encode()) + field(3, b"ms") + field(kind, values))


def push(*metrics: bytes) -> bytes:
    """Return the metrics as clients frame them."""
    resource = field(1, text_attribute("client_rack", "a", number=1))
    return field(1, resource + field(2, field(1, b"") + b"".join(metrics)))


def test_sums_and_gauges_are_read_with_their_attributes() -> None:
    counted = fixed(6, struct.pack("<q", -3)) + text_attribute("topic", "orders")
    measured = fixed(4, struct.pack("<d", 1.5))

    found = decode_metrics(
        push(metric("a", SUM, counted, more=DELTA), metric("b", GAUGE, measured))
    )

    assert found == (
        Metric(
            name="a", kind="sum", value=-3, attributes={"topic": "orders"}, is_delta=True, unit="ms"
        ),
        Metric(name="b", kind="gauge", value=1.5, attributes={}, unit="ms"),
    )


def test_each_point_of_a_metric_is_a_value() -> None:
    points = [
        fixed(6, struct.pack("<q", node)) + text_attribute("node", str(node)) for node in (1, 2)
    ]

    found = decode_metrics(push(metric("a", GAUGE, *points)))

    assert [(one.value, one.attributes) for one in found] == [
        (1, {"node": "1"}),
        (2, {"node": "2"}),
    ]


@pytest.mark.parametrize(
    ("encoded", "value"),
    [
        (b"\x10\x01", True),
        (b"\x10\x00", False),
        (b"\x18\x05", 5),
        (b"\x18" + varint((1 << 64) - 5), -5),
        (fixed(4, struct.pack("<d", 2.5)), 2.5),
        (field(7, b"\xff"), b"\xff"),
        (field(5, b""), None),
        (b"", None),
    ],
)
def test_an_attribute_has_the_value(encoded: bytes, value: object) -> None:
    attribute = field(7, field(1, b"key") + field(2, encoded))

    (found,) = decode_metrics(push(metric("a", GAUGE, attribute)))

    assert found.attributes == {"key": value}


def test_a_histogram_is_shown_without_a_value() -> None:
    point = fixed(4, struct.pack("<q", 3)) + text_attribute("topic", "orders", number=9)

    (found,) = decode_metrics(push(metric("a", HISTOGRAM, point)))

    assert (found.kind, found.value, found.attributes) == ("histogram", None, {"topic": "orders"})


def test_fields_that_are_not_known_are_skipped() -> None:
    unknown = field(99, b"x") + b"\xa0\x06\x01" + varint(101 << 3 | 5) + bytes(4)

    assert decode_metrics(unknown + push(metric("a", SUM, unknown))) != ()


@pytest.mark.parametrize(
    "damaged",
    [
        b"\x0a",  # without a length
        b"\x0a\x05a",  # cut off
        b"\x0b",  # a group, which protobuf has given up
        b"\xff" * 11,  # a number that does not end
        b"\x08\x01",  # a number where metrics should be
        b"\x09" + bytes(8),  # a fixed number where metrics should be
        push(field(2, field(1, b"\xff"))),  # a name that is not UTF-8
        push(metric("a", SUM, varint(6 << 3 | 1) + b"123")),  # a value that is cut off
    ],
)
def test_damaged_metrics_are_refused(damaged: bytes) -> None:
    with pytest.raises(InvalidMetricsError):
        decode_metrics(damaged)


def test_the_count_of_fields_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp, "MAX_FIELDS", 100)

    with pytest.raises(InvalidMetricsError, match="more than 100 fields"):
        decode_metrics(field(1, b"") * 101)


def test_any_damage_is_refused_or_read() -> None:
    random = Random(1)
    point = fixed(6, struct.pack("<q", 7)) + text_attribute("topic", "orders")
    sound = push(metric("a", SUM, point, more=DELTA))
    refused = 0

    for _ in range(3_000):
        damaged = bytearray(sound)
        damaged[random.randrange(len(sound))] = random.randrange(256)
        try:
            decode_metrics(bytes(damaged[: random.randrange(len(sound) + 1)]))
        except InvalidMetricsError:
            refused += 1

    assert refused > 1_000
