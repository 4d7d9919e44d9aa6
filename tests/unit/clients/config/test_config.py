"""Options: their valid values, how they depend on each other, and their errors."""

from __future__ import annotations

import types
import typing
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from pyk.clients.config import (
    AdminConfig,
    AdminOptions,
    ClientConfig,
    ConsumerConfig,
    ConsumerOptions,
    ProducerConfig,
    ProducerOptions,
    ServerAddress,
    ShareConsumerConfig,
    ShareConsumerOptions,
)
from pyk.clients.config.properties import parse_properties
from pyk.clients.config.properties_file import read_properties
from pyk.clients.errors import ConfigurationError
from pyk.clients.serialization import JsonDeserializer

CONFIGS = [ProducerConfig, ConsumerConfig, ShareConsumerConfig, AdminConfig]
SERVERS = "kafka1:9092"


def refused(config: type[ClientConfig], **options: Any) -> str:
    """Return the message about invalid options."""
    with pytest.raises(ConfigurationError) as raised:
        config.from_kwargs(SERVERS, **options)
    return str(raised.value)


# -- the table -------------------------------------------------------------------------------------

KAFKA_DEFAULTS = {
    ProducerConfig: {
        "acks": -1,
        "batch_size": 16384,
        "buffer_memory": 33554432,
        "compression_type": "none",
        "connections_max_idle_ms": 540000,
        "delivery_timeout_ms": 120000,
        "enable_idempotence": True,
        "linger_ms": 5,
        "max_block_ms": 60000,
        "max_in_flight_requests_per_connection": 5,
        "max_request_size": 1048576,
        "metadata_max_age_ms": 300000,
        "metadata_max_idle_ms": 300000,
        "metadata_recovery_rebootstrap_trigger_ms": 300000,
        "metadata_recovery_strategy": "rebootstrap",
        "reconnect_backoff_max_ms": 1000,
        "reconnect_backoff_ms": 50,
        "request_timeout_ms": 30000,
        "retry_backoff_max_ms": 1000,
        "retry_backoff_ms": 100,
        "security_protocol": "PLAINTEXT",
        "socket_connection_setup_timeout_max_ms": 30000,
        "socket_connection_setup_timeout_ms": 10000,
    },
    ConsumerConfig: {
        "allow_auto_create_topics": True,
        "auto_commit_interval_ms": 5000,
        "auto_offset_reset": "latest",
        "check_crcs": True,
        "default_api_timeout_ms": 60000,
        "enable_auto_commit": True,
        "exclude_internal_topics": True,
        "fetch_max_bytes": 52428800,
        "fetch_max_wait_ms": 500,
        "fetch_min_bytes": 1,
        "group_id": None,
        "group_instance_id": None,
        "heartbeat_interval_ms": 3000,
        "isolation_level": "read_uncommitted",
        "max_partition_fetch_bytes": 1048576,
        "max_poll_interval_ms": 300000,
        "max_poll_records": 500,
        "partition_assignment_strategy": ("range", "cooperative-sticky"),
        "session_timeout_ms": 45000,
    },
    ShareConsumerConfig: {
        "allow_auto_create_topics": True,
        "check_crcs": True,
        "default_api_timeout_ms": 60000,
        "fetch_max_bytes": 52428800,
        "fetch_max_wait_ms": 500,
        "fetch_min_bytes": 1,
        "max_poll_interval_ms": 300000,
        "max_poll_records": 500,
        "share_acknowledgement_mode": "implicit",
        "share_acquire_mode": "batch_optimized",
    },
    AdminConfig: {"connections_max_idle_ms": 300000, "default_api_timeout_ms": 60000},
}


@pytest.mark.parametrize("config", CONFIGS)
def test_defaults_are_kafkas(config: type[ClientConfig]) -> None:
    needed = {"group_id": "g"} if config is ShareConsumerConfig else {}
    made = config.from_kwargs(SERVERS, **needed)

    found = {name: getattr(made, name) for name in KAFKA_DEFAULTS[config]}
    assert found == KAFKA_DEFAULTS[config]


@pytest.mark.parametrize("config", CONFIGS)
def test_every_option_has_one_sentence_and_a_kafka_name(config: type[ClientConfig]) -> None:
    for name, option in config.options().items():
        assert option.doc.endswith(".")
        assert option.kafka_name == name.replace("_", ".")
        assert option.kind.describe()


@pytest.mark.parametrize("config", CONFIGS)
def test_every_default_is_a_valid_value(config: type[ClientConfig]) -> None:
    for option in config.options().values():
        if option.name != "bootstrap_servers":
            assert option.kind.parse(option.default) == option.default


def widened(annotation: Any) -> set[Any]:
    """Return the types that an annotation allows, literals as the types of their values."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return set().union(*(widened(one) for one in typing.get_args(annotation)))
    if typing.get_origin(annotation) is typing.Literal:
        return {type(value) for value in typing.get_args(annotation)}
    return {typing.get_origin(annotation) or annotation}


@pytest.mark.parametrize(
    ("config", "keywords"),
    [
        (ProducerConfig, ProducerOptions),
        (ConsumerConfig, ConsumerOptions),
        (ShareConsumerConfig, ShareConsumerOptions),
        (AdminConfig, AdminOptions),
    ],
)
def test_the_keyword_arguments_are_those_of_the_table(
    config: type[ClientConfig], keywords: Any
) -> None:
    fields, given = get_type_hints(config), get_type_hints(keywords)

    assert set(given) == set(config.options()) - {"bootstrap_servers"}
    for name, annotation in given.items():
        kept = {str if one is tuple else one for one in widened(fields[name])}
        assert kept <= widened(annotation), name


def test_a_config_cannot_be_changed() -> None:
    config = ProducerConfig.from_kwargs(SERVERS)

    with pytest.raises(AttributeError):
        config.linger_ms = 3  # type: ignore[misc]


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "servers"),
    [
        ("a:1", [("a", 1)]),
        ("a:1,b:2", [("a", 1), ("b", 2)]),
        (" a:1 , b:2 ,", [("a", 1), ("b", 2)]),
        (["a:1", "b:2"], [("a", 1), ("b", 2)]),
        ("[::1]:9092", [("::1", 9092)]),
        ("PLAINTEXT://a:1", [("a", 1)]),
        ("SASL_SSL://a:1", [("a", 1)]),
        ("a:1,a:1", [("a", 1)]),
    ],
)
def test_bootstrap_servers(given: Any, servers: list[tuple[str, int]]) -> None:
    config = AdminConfig.from_kwargs(given)

    assert config.bootstrap_servers == tuple(ServerAddress(*server) for server in servers)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("", "bootstrap_servers is empty"),
        ("kafka", "not 'host:port'"),
        ("kafka://a:1", "has 'kafka://a:1'; write 'a:1', without 'kafka://'"),
        ("a:1,tls://b:2", "write 'b:2', without 'tls://'"),
        ("kafka:", "not a number from 1 to 65535"),
        ("kafka:0", "not a number from 1 to 65535"),
        ("kafka:70000", "not a number from 1 to 65535"),
        ("kafka:٣", "not a number from 1 to 65535"),
        ("::1:9092", "IPv6"),
        (":9092", "not 'host:port'"),
        ("ka\nfka:9092", "invalid host name"),
        (f"{'h' * 300}:9092", "invalid host name"),
        (9092, "must be a str or a sequence of str"),
    ],
)
def test_invalid_bootstrap_servers_are_refused(given: Any, words: str) -> None:
    with pytest.raises(ConfigurationError, match="bootstrap_servers") as raised:
        AdminConfig.from_kwargs(given)

    assert words in str(raised.value)
    assert str(raised.value).isprintable()


@pytest.mark.parametrize("given", ["alice:canary@kafka:9092", "SASL_SSL://alice:canary@kafka:9"])
def test_a_password_in_the_bootstrap_servers_is_refused_and_not_shown(given: str) -> None:
    with pytest.raises(ConfigurationError, match="sasl_username and sasl_password") as raised:
        AdminConfig.from_kwargs(given)

    assert "canary" not in f"{raised.value!r}"


def test_a_mapping_of_options_is_for_from_properties() -> None:
    with pytest.raises(ConfigurationError, match=r"from_properties\(\) takes one"):
        ProducerConfig.from_kwargs({"bootstrap.servers": "a:1"})  # type: ignore[arg-type]


def test_bootstrap_servers_are_given_once() -> None:
    with pytest.raises(ConfigurationError, match="bootstrap_servers was given twice"):
        ProducerConfig.from_kwargs("a:1", bootstrap_servers="b:2")


def test_bootstrap_servers_must_be_given() -> None:
    with pytest.raises(ConfigurationError, match="bootstrap_servers must be given"):
        AdminConfig.from_kwargs()


@pytest.mark.parametrize(
    ("config", "options", "words"),
    [
        (ProducerConfig, {"linger_ms": -1}, "linger_ms is -1, but must be 0 or more"),
        (ProducerConfig, {"linger_ms": 1.5}, "linger_ms must be a whole number, not 1.5"),
        (ProducerConfig, {"linger_ms": True}, "linger_ms must be a whole number, not True"),
        (
            ProducerConfig,
            {"batch_size": 2**31},
            "batch_size is 2147483648, but must be at most 2147483647",
        ),
        (ProducerConfig, {"acks": 2}, "acks is 2, but must be 'all', 1 or 0"),
        (ProducerConfig, {"compression_type": "brotli"}, "'none' or 'gzip' or 'snappy'"),
        (ProducerConfig, {"enable_idempotence": 1}, "must be True or False"),
        (ProducerConfig, {"client_id": "x" * 40_000}, "client_id must have 1"),
        (ProducerConfig, {"client_id": 5}, "client_id must be a str, not 5"),
        (ConsumerConfig, {"check_crcs": False}, "check_crcs cannot be switched off"),
        (ConsumerConfig, {"auto_offset_reset": "begin"}, "'latest' or 'earliest' or 'none'"),
        (ConsumerConfig, {"partition_assignment_strategy": "fair"}, "'range', 'roundrobin'"),
        (
            ConsumerConfig,
            {"value_deserializer": "json.loads"},
            "must be a callable, or an object with",
        ),
        (ConsumerConfig, {"value_deserializer": 5}, "deserialize(topic, data), not int"),
        (
            ConsumerConfig,
            {"value_deserializer": JsonDeserializer},
            "not the class JsonDeserializer: write JsonDeserializer()",
        ),
        (ProducerConfig, {"key_serializer": 5}, "with serialize(topic, data), not int"),
        (ProducerConfig, {"partitioner": 5}, "partitioner must be a callable, not int"),
        (AdminConfig, {"security_protocol": "TLS"}, "'PLAINTEXT' or 'SSL' or 'SASL_PLAINTEXT'"),
    ],
)
def test_values_that_are_not_valid(
    config: type[ClientConfig], options: dict[str, Any], words: str
) -> None:
    assert words in refused(config, **options)


# -- options that belong together ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "options", "words"),
    [
        (
            ProducerConfig,
            {"delivery_timeout_ms": 30_000, "linger_ms": 1},
            "less than linger_ms + request_timeout_ms = 30001",
        ),
        (ProducerConfig, {"acks": 1, "enable_idempotence": True}, "needs acks='all'"),
        (
            ProducerConfig,
            {"max_in_flight_requests_per_connection": 6},
            "too many for enable_idempotence",
        ),
        (
            ConsumerConfig,
            {"heartbeat_interval_ms": 10_000, "session_timeout_ms": 10_000},
            "must be less than session_timeout_ms",
        ),
        (ConsumerConfig, {"fetch_max_wait_ms": 30_000}, "every fetch would time out"),
        (ConsumerConfig, {"group_instance_id": "one"}, "without a group_id"),
        (
            ConsumerConfig,
            {"group_protocol": "consumer", "heartbeat_interval_ms": 3_000},
            "heartbeat_interval_ms cannot be set with group_protocol='consumer'",
        ),
        (
            ConsumerConfig,
            {"group_protocol": "consumer", "session_timeout_ms": 45_000},
            "session_timeout_ms cannot be set with group_protocol='consumer'",
        ),
        (
            ConsumerConfig,
            {"group_protocol": "consumer", "partition_assignment_strategy": "range"},
            "group_remote_assignor names the assignor",
        ),
        (
            ConsumerConfig,
            {"group_remote_assignor": "uniform"},
            "group_remote_assignor cannot be set with group_protocol='classic'",
        ),
        (
            AdminConfig,
            {"retry_backoff_ms": 500, "retry_backoff_max_ms": 200},
            "retry_backoff_ms=500 is more than retry_backoff_max_ms=200",
        ),
    ],
)
def test_options_that_do_not_go_together(
    config: type[ClientConfig], options: dict[str, Any], words: str
) -> None:
    assert words in refused(config, **options)


def test_fewer_acks_switch_idempotence_off_unless_it_was_asked_for() -> None:
    assert ProducerConfig.from_kwargs(SERVERS, acks=1).enable_idempotence is False
    assert ProducerConfig.from_kwargs(SERVERS, acks="all").enable_idempotence is True


def test_the_default_delivery_timeout_covers_linger_and_request_timeout() -> None:
    config = ProducerConfig.from_kwargs(SERVERS, request_timeout_ms=200_000)

    assert config.delivery_timeout_ms == 200_005


def test_a_backoff_that_is_raised_above_its_maximum_is_constant() -> None:
    config = AdminConfig.from_kwargs(SERVERS, reconnect_backoff_ms=5_000)

    assert config.reconnect_backoff_max_ms == 5_000


# -- unknown names ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "name", "words"),
    [
        (ProducerConfig, "linger", "did you mean 'linger_ms'?"),
        (ProducerConfig, "bath_size", "did you mean 'batch_size'?"),
        (ProducerConfig, "max_batch_size", "here it is called 'batch_size'"),
        (ProducerConfig, "message_timeout_ms", "here it is called 'delivery_timeout_ms'"),
        (ConsumerConfig, "group", "here it is called 'group_id'"),
        (ConsumerConfig, "fetch_wait_max_ms", "here it is called 'fetch_max_wait_ms'"),
        (ConsumerConfig, "ssl_ca_location", "here it is called 'ssl_cafile'"),
        (AdminConfig, "sasl_oauth_token_provider", "give auth=Oauth(function)"),
        (ConsumerConfig, "interceptors", "this release of pyk does not have"),
        (
            ProducerConfig,
            "on_delivery",
            "'on_delivery' is not an option: it is an argument of send",
        ),
        (ProducerConfig, "bootstrap.servers", "written with '_' for '.': bootstrap_servers"),
        (ConsumerConfig, "group.id", "that from_properties() takes"),
        (ProducerConfig, "bootstrap_server", "did you mean 'bootstrap_servers'?"),
        (ProducerConfig, "bootstrapservers", "did you mean 'bootstrap_servers'?"),
        (ProducerConfig, "ssl_keystor_location", "did you mean 'ssl_keystore_location'?"),
        (ProducerConfig, "ssl_verify", "certificates are always checked"),
        (ProducerConfig, "servers", "here it is called 'bootstrap_servers'"),
        (ConsumerConfig, "consumer_timeout_ms", "give poll a timeout"),
        (AdminConfig, "xyzzy", "'xyzzy' is not an option"),
    ],
)
def test_an_unknown_name_is_an_error_that_helps(
    config: type[ClientConfig], name: str, words: str
) -> None:
    assert words in refused(config, **{name: 1})


def test_all_unknown_names_are_named_at_once() -> None:
    text = refused(ProducerConfig, linger=1, xyzzy=2)

    assert "'linger'" in text
    assert "'xyzzy'" in text


# -- properties ------------------------------------------------------------------------------------


def test_properties_have_kafkas_dotted_names_and_texts() -> None:
    config = ConsumerConfig.from_properties(
        {
            "bootstrap.servers": "a:1,b:2",
            "group.id": "g",
            "enable.auto.commit": "false",
            "max.poll.records": "100",
            "partition.assignment.strategy": "cooperative-sticky",
        }
    )

    assert config.group_id == "g"
    assert config.enable_auto_commit is False
    assert config.max_poll_records == 100
    assert config.partition_assignment_strategy == ("cooperative-sticky",)


def test_properties_are_read_from_a_file_and_keywords_win(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("# of the cluster\nbootstrap.servers = a:1\nlinger.ms: 7\nacks=all\n")

    config = ProducerConfig.from_properties(read_properties(path), linger_ms=9)

    assert config.linger_ms == 9
    assert config.bootstrap_servers == (ServerAddress("a", 1),)


def test_a_file_of_windows_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_bytes("\ufeffbootstrap.servers=a:1\r\nlinger.ms=7\r\n".encode())

    assert read_properties(path) == {"bootstrap.servers": "a:1", "linger.ms": "7"}


def test_a_jaas_configuration_that_goes_on_without_a_backslash_is_told() -> None:
    text = (
        "bootstrap.servers=a:1\n"
        "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required\n"
        '  username="alice" password="canary";\n'
    )

    with pytest.raises(
        ConfigurationError, match=r"'username'.*; sasl\.jaas\.config has no semi"
    ) as (caught):
        ProducerConfig.from_properties(parse_properties(text))

    assert "backslash" in str(caught.value)
    assert "canary" not in str(caught.value)


def test_a_name_in_properties_is_named_as_it_was_written() -> None:
    with pytest.raises(ConfigurationError, match=r"'linger\.mss'.*'linger\.ms'"):
        ProducerConfig.from_properties({"bootstrap.servers": "a:1", "linger.mss": "1"})


def test_a_secret_in_properties_is_not_repeated(caplog: pytest.LogCaptureFixture) -> None:
    AdminConfig.from_properties(
        {
            "bootstrap.servers": "a:1",
            "sasl.jaas.config": "PlainLoginModule password='hunter2';",
            "ssl.key.password": "hunter2",
        }
    )

    assert "hunter2" not in caplog.text
    assert "sasl.jaas.config" in caplog.text


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("a=1", {"a": "1"}),
        ("a = 1 ", {"a": "1 "}),
        ("a:1", {"a": "1"}),
        ("a 1", {"a": "1"}),
        ("a", {"a": ""}),
        ("a=b=c", {"a": "b=c"}),
        ("# a=1\n! b=2\n\nc=3", {"c": "3"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=1,\\\n   2,\\\n   3", {"a": "1,2,3"}),
        ("a=x\\\\\nb=y", {"a": "x\\", "b": "y"}),
        ("a\\=b=c", {"a=b": "c"}),
        ("a=\\t\\u0041\\z", {"a": "\tAz"}),
        ("a=\\ud83d\\ude00", {"a": "\U0001f600"}),
        ("  a=1", {"a": "1"}),
        ("a=1\\", {"a": "1"}),
        ("a=1\rb=2\r\nc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=1\u20282\x0b3\x85", {"a": "1\u20282\x0b3\x85"}),
        ("", {}),
    ],
)
def test_properties_are_read_as_java_reads_them(text: str, entries: dict[str, str]) -> None:
    assert parse_properties(text) == entries
