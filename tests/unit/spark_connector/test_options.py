"""The options of Spark's Kafka source and sink, and the errors for invalid ones."""

from __future__ import annotations

import pytest

from pyk.clients.topic_partition import TopicPartition
from pyk.spark_connector.errors import OptionError
from pyk.spark_connector.offsets import EARLIEST, LATEST
from pyk.spark_connector.options import (
    NoMatch,
    OffsetLimit,
    batch_source_options,
    sink_options,
    source_options,
    stream_source_options,
)

MINIMUM = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "orders"}
SERVERS = {"kafka.bootstrap.servers": "localhost:9092"}
ORDERS_0 = TopicPartition("orders", 0)


def test_option_names_are_case_insensitive() -> None:
    options = source_options(
        {"KAFKA.Bootstrap.Servers": "a:1", "SUBSCRIBE": "x", "FailOnDataLoss": "False"}
    )

    assert not options.fail_on_data_loss
    assert options.kafka == {"bootstrap.servers": "a:1"}


def test_defaults_are_those_of_spark() -> None:
    options = source_options(MINIMUM)

    assert options.fail_on_data_loss
    assert not options.include_headers
    assert options.max_trigger_delay_ms == 15 * 60 * 1000
    assert options.poll_timeout_ms == 120_000
    assert (options.fetch_offset_attempts, options.fetch_offset_retry_interval_ms) == (3, 1000)


def test_a_batch_reads_all_records_and_a_stream_new_ones_by_default() -> None:
    batch, stream = batch_source_options(MINIMUM), stream_source_options(MINIMUM)

    assert batch.starting == OffsetLimit(everywhere=EARLIEST)
    assert batch.ending == OffsetLimit(everywhere=LATEST)
    assert stream.starting == OffsetLimit(everywhere=LATEST)


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ({"subscribe": " a, b,,a "}, "topics", frozenset({"a", "b"})),
        (
            {"assign": '{"a":[0,"2"],"b":[1]}'},
            "partitions",
            frozenset({TopicPartition("a", 0), TopicPartition("a", 2), TopicPartition("b", 1)}),
        ),
    ],
)
def test_subscriptions_are_parsed(given: dict[str, str], field: str, value: object) -> None:
    assert getattr(source_options(SERVERS | given).subscription, field) == value


def test_a_pattern_has_the_syntax_of_java() -> None:
    pattern = source_options(
        SERVERS | {"subscribePattern": r"orders-\p{Alpha}{2}"}
    ).subscription.pattern

    assert pattern is not None
    assert pattern.fullmatch("orders-eu")


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        ({"startingOffsets": "Earliest"}, OffsetLimit(everywhere=EARLIEST)),
        ({"startingOffsets": " latest "}, OffsetLimit(everywhere=LATEST)),
        ({"startingOffsets": '{"orders":{"0":-2}}'}, OffsetLimit(offsets={ORDERS_0: EARLIEST})),
        (
            {"startingTimestamp": "5", "startingOffsets": "latest"},
            OffsetLimit(timestamp_ms=5, on_no_match=NoMatch.ERROR),
        ),
        (
            {
                "startingOffsetsByTimestamp": '{"orders":{"0":7}}',
                "startingOffsetsByTimestampStrategy": "LATEST",
            },
            OffsetLimit(timestamps_ms={ORDERS_0: 7}, on_no_match=NoMatch.LATEST),
        ),
    ],
)
def test_starting_offsets_of_a_stream_are_parsed(given: dict[str, str], limit: OffsetLimit) -> None:
    assert stream_source_options(MINIMUM | given).starting == limit


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("15m", 900_000),
        ("30s", 30_000),
        ("500ms", 500),
        ("500", 500),
        ("2 H", 7_200_000),
        ("3min", 180_000),
        ("1d", 86_400_000),
        ("5000us", 5),
    ],
)
def test_durations_in_sparks_notation(text: str, milliseconds: int) -> None:
    assert source_options(MINIMUM | {"maxTriggerDelay": text}).max_trigger_delay_ms == milliseconds


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "'kafka.bootstrap.servers' must be given"),
        (SERVERS, "one of assign, subscribe, subscribePattern must be given"),
        (MINIMUM | {"assign": '{"a":[0]}'}, "only one of"),
        (SERVERS | {"subscribe": " , "}, "subscribe names no topic"),
        (SERVERS | {"assign": "orders"}, "assign should look like"),
        (SERVERS | {"assign": '{"orders":[]}'}, "assign names no partition"),
        (SERVERS | {"assign": '{"orders":[-1]}'}, "assign should look like"),
        (SERVERS | {"subscribePattern": " "}, "subscribePattern is empty"),
        (SERVERS | {"subscribePattern": "(["}, "not a regular expression"),
        (MINIMUM | {"startingOffsets": "newest"}, "startingOffsets should look like"),
        (MINIMUM | {"startingOffsets": '{"orders":{"0":-3}}'}, "invalid offset -3 for orders-0"),
        (MINIMUM | {"startingOffsets": '{"orders":{"0":1.5}}'}, "startingOffsets should look like"),
        (MINIMUM | {"startingOffsets": '{"orders":[0]}'}, "startingOffsets should look like"),
        (MINIMUM | {"startingTimestamp": "yesterday"}, "must be an integer"),
        (MINIMUM | {"startingOffsetsByTimestampStrategy": "now"}, "'error' or 'latest'"),
        (MINIMUM | {"failOnDataLoss": "yes"}, "must be true or false"),
        (MINIMUM | {"minPartitions": "0"}, "minPartitions must be positive"),
        (MINIMUM | {"maxRecordsPerPartition": "-1"}, "must be an integer"),
        (MINIMUM | {"maxTriggerDelay": "soon"}, "number with one of us, ms, s"),
        (
            MINIMUM | {"minOffsetsPerTrigger": "5", "maxOffsetsPerTrigger": "4"},
            "minOffsetsPerTrigger=5 is above maxOffsetsPerTrigger=4",
        ),
        (MINIMUM | {"commitOffsetsToGroup": "true"}, "needs 'kafka.group.id'"),
        (MINIMUM | {"kafka.auto.offset.reset": "earliest"}, "set startingOffsets"),
        (MINIMUM | {"kafka.key.deserializer": "x"}, "'key.deserializer' is not supported"),
        (MINIMUM | {"kafka.value.deserializer": "x"}, "'value.deserializer' is not supported"),
        (MINIMUM | {"kafka.enable.auto.commit": "true"}, "'enable.auto.commit' is not supported"),
        (MINIMUM | {"kafka.interceptor.classes": "x"}, "'interceptor.classes' is not supported"),
    ],
)
def test_options_that_spark_refuses_are_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=r"^\[PYK_OPTION\] ") as error:
        source_options(given)

    assert message in str(error.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"startingOffsets": "latest"}, "a batch read cannot start at the latest offset"),
        ({"startingOffsets": '{"orders":{"0":-1}}'}, "latest offset (of orders-0)"),
        ({"endingOffsets": "earliest"}, "a batch read cannot end at the earliest offset"),
        ({"endingOffsets": '{"orders":{"0":-2}}'}, "earliest offset (of orders-0)"),
        (
            {"startingOffsets": '{"orders":{"0":5}}', "endingOffsets": '{"orders":{"0":4}}'},
            "orders-0 starts at offset 5, above its end at 4",
        ),
        (
            {"startingOffsets": '{"orders":{"0":5}}', "endingOffsets": '{"orders":{"1":9}}'},
            "only one names orders-0, orders-1",
        ),
    ],
)
def test_invalid_batch_options_are_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError) as error:
        batch_source_options(MINIMUM | given)

    assert message in str(error.value)


@pytest.mark.parametrize("name", ["endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"])
def test_ending_offsets_of_a_stream_are_refused(name: str) -> None:
    value = {"endingOffsets": "latest", "endingTimestamp": "5"}.get(name, '{"orders":{"0":5}}')

    with pytest.raises(OptionError, match="a stream has no end"):
        stream_source_options(MINIMUM | {name: value})


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("maxOffsetPerTrigger", "maxOffsetsPerTrigger"),
        ("startingoffset", "startingOffsets"),
        ("endOffsets", "endingOffsets"),
        ("subscribes", "subscribe"),
        ("topics", "topic"),
        ("checkpointLocatoin", "checkpointLocation"),
        ("bootstrap.servers", "kafka.bootstrap.servers"),
        ("group.id", "kafka.group.id"),
        ("acks", "kafka.acks"),
    ],
)
def test_the_error_for_a_misspelt_option_suggests_the_right_one(name: str, meant: str) -> None:
    for parse in (source_options, sink_options):
        with pytest.raises(OptionError, match=f"unknown option.*did you mean '{meant}'"):
            parse(MINIMUM | {name: "5"})


@pytest.mark.parametrize(
    ("name", "value"),
    [("topic", "out"), ("inferSchema", "true"), ("maxFilesPerTrigger", "1"), ("owner", "me")],
)
def test_a_read_accepts_the_options_of_spark_and_reports_those_without_effect(
    name: str, value: str
) -> None:
    written = name if name == "topic" else name.lower()

    assert source_options(MINIMUM | {name: value}).notices == (
        f"option {written!r} has no effect on a read",
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("startingOffsets", "earliest"),
        ("subscribe", "orders"),
        ("includeHeaders", "true"),
        ("failOnDataLoss", "perhaps"),
        ("kafkaConsumer.pollTimeoutMs", "5"),
    ],
)
def test_a_write_accepts_the_options_of_spark_and_reports_those_without_effect(
    name: str, value: str
) -> None:
    assert sink_options(SERVERS | {name: value}).notices == (
        f"option {name!r} has no effect on a write",
    )


def test_limits_of_micro_batches_have_no_effect_on_a_batch() -> None:
    given = MINIMUM | {"maxOffsetsPerTrigger": "5", "maxTriggerDelay": "1m"}

    assert stream_source_options(given).notices == ()
    assert batch_source_options(given).notices == (
        "option 'maxOffsetsPerTrigger' has no effect on a batch",
        "option 'maxTriggerDelay' has no effect on a batch",
    )


def test_groups_have_no_effect_unless_offsets_are_committed_to_one() -> None:
    given = MINIMUM | {"kafka.group.id": "g"}

    assert source_options(given | {"commitOffsetsToGroup": "true"}).notices == ()
    assert source_options(given | {"groupIdPrefix": "p"}).notices == (
        "option 'groupIdPrefix' has no effect: reading joins no consumer group",
        "option 'kafka.group.id' has no effect: reading joins no consumer group",
    )


@pytest.mark.parametrize("name", ["path", "checkpointLocation", "queryName", "__partition_columns"])
def test_options_that_spark_adds_are_ignored(name: str) -> None:
    source_options(MINIMUM | {name: "x"})
    sink_options(SERVERS | {name: "x"})


def test_the_sink_accepts_a_topic_or_no_topic() -> None:
    assert sink_options(SERVERS | {"topic": " out "}).topic == "out"
    assert sink_options(SERVERS | {"kafka.acks": "all"}).topic is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"topic": "out"}, "'kafka.bootstrap.servers' must be given"),
        (SERVERS | {"kafka.key.serializer": "x"}, "'key.serializer' is not supported"),
        (SERVERS | {"kafka.value.serializer": "x"}, "'value.serializer' is not supported"),
    ],
)
def test_invalid_options_of_the_sink_are_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError) as error:
        sink_options(given)

    assert message in str(error.value)


def test_secrets_are_not_printed() -> None:
    secret = {"kafka.sasl.password": "canary"}

    assert "canary" not in repr(source_options(MINIMUM | secret))
    assert "canary" not in repr(sink_options(SERVERS | secret))
