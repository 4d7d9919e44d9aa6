"""Kafka's own names are never an error; one warning lists those without effect."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients.config import AdminConfig, ClientConfig, ConsumerConfig, ProducerConfig
from pyk.clients.errors import ConfigurationError
from pyk.clients.serialization import JsonSerializer, StringDeserializer, StringSerializer

SERVERS = "kafka1:9092"


def warned(caplog: pytest.LogCaptureFixture) -> str:
    (record,) = caplog.records
    return record.getMessage()


@pytest.mark.parametrize(
    ("config", "name", "value", "why"),
    [
        (ProducerConfig, "retries", "5", "until delivery_timeout_ms"),
        (AdminConfig, "retries", "5", "until the timeout of the call"),
        (ProducerConfig, "send.buffer.bytes", "65536", "the operating system"),
        (ConsumerConfig, "receive.buffer.bytes", "65536", "the operating system"),
        (ConsumerConfig, "metric.reporters", "com.example.Reporter", "stats()"),
        (ProducerConfig, "metrics.context.tag", "x", "stats()"),
        (ConsumerConfig, "interceptor.classes", "com.example.Tracing", "a Java class"),
        (ProducerConfig, "partitioner.class", "com.example.Mine", "partitioner="),
        (ProducerConfig, "ssl.truststore.location", "/etc/ca.jks", "PLAINTEXT"),
        (ProducerConfig, "group.id", "g", "an option of Consumer"),
        (ConsumerConfig, "linger.ms", "5", "an option of Producer"),
        (AdminConfig, "acks", "all", "an option of Producer"),
        (ConsumerConfig, "auto.include.jmx.reporter", "true", "stats()"),
    ],
)
def test_an_option_without_effect_is_logged_with_its_reason(
    config: type[ClientConfig],
    name: str,
    value: str,
    why: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    config.from_properties({"bootstrap.servers": SERVERS, name: value})

    assert name in warned(caplog)
    assert why in warned(caplog)


def test_one_warning_names_all_options_without_their_values(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ProducerConfig.from_properties(
        {
            "bootstrap.servers": SERVERS,
            "client.id": "shop",
            "send.buffer.bytes": "1",
            "receive.buffer.bytes": "1",
            "ssl.key.password": "hunter2",
        }
    )

    text = warned(caplog)
    assert "Producer 'shop'" in text
    assert "send.buffer.bytes, receive.buffer.bytes" in text
    assert "hunter2" not in text


def test_keywords_are_taken_as_properties_are(caplog: pytest.LogCaptureFixture) -> None:
    options: dict[str, Any] = {"retries": 5}

    ProducerConfig.from_kwargs(SERVERS, **options)

    assert "retries" in warned(caplog)


def test_an_invalid_configuration_raises_before_any_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(ConfigurationError):
        ProducerConfig.from_properties({"bootstrap.servers": SERVERS, "retries": "5", "xyzzy": ""})

    assert caplog.records == []


def test_an_unknown_name_is_an_error_that_names_the_nearest_of_kafka() -> None:
    with pytest.raises(ConfigurationError, match=r"it is called 'sasl\.mechanism'"):
        ProducerConfig.from_properties({"bootstrap.servers": SERVERS, "sasl.mechanisms": "PLAIN"})


def test_transactional_ids_are_taken_with_what_belongs_to_them() -> None:
    config = ProducerConfig.from_properties(
        {
            "bootstrap.servers": SERVERS,
            "transactional.id": "billing",
            "transaction.timeout.ms": "5000",
        }
    )

    assert (config.transactional_id, config.transaction_timeout_ms) == ("billing", 5000)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"transactional.id": "t", "acks": "1"}, "needs acks='all'"),
        ({"transactional.id": "t", "enable.idempotence": "false"}, "needs enable_idempotence"),
        ({"transaction.two.phase.commit.enable": "true"}, "needs a transactional_id"),
    ],
)
def test_transactions_need_what_keeps_them_whole(options: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        ProducerConfig.from_properties({"bootstrap.servers": SERVERS, **options})


# -- names of Java classes -------------------------------------------------------------------------


def test_java_serializers_that_have_a_twin_become_it(caplog: pytest.LogCaptureFixture) -> None:
    kafka = "org.apache.kafka.common.serialization"

    producer = ProducerConfig.from_properties(
        {
            "bootstrap.servers": SERVERS,
            "key.serializer": f"{kafka}.StringSerializer",
            "value.serializer": "io.confluent.kafka.serializers.KafkaJsonSerializer",
        }
    )
    consumer = ConsumerConfig.from_properties(
        {
            "bootstrap.servers": SERVERS,
            "key.deserializer": f"{kafka}.StringDeserializer",
            "value.deserializer": f"{kafka}.ByteArrayDeserializer",
        }
    )

    assert isinstance(producer.key_serializer, StringSerializer)
    assert isinstance(producer.value_serializer, JsonSerializer)
    assert isinstance(consumer.key_deserializer, StringDeserializer)
    assert consumer.value_deserializer is None
    assert caplog.records == []


def test_other_java_serializers_leave_bytes_as_they_are(caplog: pytest.LogCaptureFixture) -> None:
    config = ConsumerConfig.from_properties(
        {
            "bootstrap.servers": SERVERS,
            "value.deserializer": "io.confluent.kafka.serializers.KafkaAvroDeserializer",
        }
    )

    assert config.value_deserializer is None
    assert "value.deserializer" in warned(caplog)
    assert "give value_deserializer= a Python object" in warned(caplog)


def test_a_keyword_replaces_the_java_class_without_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    config = ConsumerConfig.from_properties(
        {"bootstrap.servers": SERVERS, "value.deserializer": "com.example.Avro"},
        value_deserializer=bytes.decode,
    )

    assert config.value_deserializer is bytes.decode
    assert caplog.records == []


def test_java_assignors_are_known_by_their_class() -> None:
    consumer = "org.apache.kafka.clients.consumer"

    config = ConsumerConfig.from_properties(
        {
            "bootstrap.servers": SERVERS,
            "partition.assignment.strategy": (
                f"{consumer}.CooperativeStickyAssignor,{consumer}.RoundRobinAssignor"
            ),
        }
    )

    assert config.partition_assignment_strategy == ("cooperative-sticky", "roundrobin")


# -- one option in pyk, several in Kafka -----------------------------------------------------------


@pytest.mark.parametrize(
    ("codec", "level", "taken"), [("zstd", "10", 10), ("gzip", "-1", None), ("lz4", "9", 9)]
)
def test_the_level_of_the_chosen_codec_is_the_compression_level(
    codec: str, level: str, taken: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    config = ProducerConfig.from_properties(
        {
            "bootstrap.servers": SERVERS,
            "compression.type": codec,
            f"compression.{codec}.level": level,
        }
    )

    assert config.compression_level == taken
    assert caplog.records == []


def test_a_level_of_another_codec_has_no_effect(caplog: pytest.LogCaptureFixture) -> None:
    config = ProducerConfig.from_properties(
        {"bootstrap.servers": SERVERS, "compression.type": "lz4", "compression.zstd.level": "10"}
    )

    assert config.compression_level is None
    assert "compression.zstd.level" in warned(caplog)


def test_a_level_that_is_no_number_is_named_as_it_was_written() -> None:
    with pytest.raises(ConfigurationError, match=r"compression\.zstd\.level must be a whole"):
        ProducerConfig.from_properties(
            {
                "bootstrap.servers": SERVERS,
                "compression.type": "zstd",
                "compression.zstd.level": "hard",
            }
        )


# -- defaults that follow from other options -------------------------------------------------------


def test_fewer_acks_switch_idempotence_off_and_say_so(caplog: pytest.LogCaptureFixture) -> None:
    config = ProducerConfig.from_kwargs(SERVERS, acks=1)

    assert config.enable_idempotence is False
    assert "acks=1 switches idempotence off" in warned(caplog)


def test_idempotence_that_was_switched_off_on_purpose_is_not_warned_about(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ProducerConfig.from_kwargs(SERVERS, acks=1, enable_idempotence=False)

    assert caplog.records == []


def test_an_empty_client_id_is_kafkas_default() -> None:
    config = ConsumerConfig.from_properties(
        {"bootstrap.servers": SERVERS, "client.id": "", "client.rack": ""}
    )

    assert config.client_id == "pyk"
    assert config.client_rack is None


def test_the_type_of_a_key_store_needs_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    properties = {
        "bootstrap.servers": SERVERS,
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.keystore.type": "PKCS12",
    }

    ProducerConfig.from_properties(properties)

    assert caplog.records == []
