"""Configurations: their valid values, and where a value comes from."""

from __future__ import annotations

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.config import (
    BROKER_DEFINITIONS,
    TOPIC_DEFINITIONS,
    BrokerConfigLayers,
    ConfigSource,
    InvalidConfigError,
    check_topic_configs,
    parse_broker_configs,
    parse_topic_configs,
    stored_broker_configs,
    stored_topic_configs,
)
from pyk.reference_broker.config.kafka_broker_configs import kafka_rows


def entry(entries, name):
    (found,) = [each for each in entries if each.name == name]
    return found


def test_values_are_read_from_text_as_they_come_over_the_wire():
    assert parse_topic_configs(
        {
            "retention.ms": " -1 ",
            "cleanup.policy": "compact, delete",
            "preallocate": "TRUE",
            "min.cleanable.dirty.ratio": "0.25",
            "compression.type": "zstd",
        }
    ) == {
        "retention.ms": -1,
        "cleanup.policy": ("compact", "delete"),
        "preallocate": True,
        "min.cleanable.dirty.ratio": 0.25,
        "compression.type": "zstd",
    }


def test_values_may_be_python_values():
    parsed = parse_topic_configs({"retention.ms": 5, "cleanup.policy": ["delete"]})

    assert parsed == {"retention.ms": 5, "cleanup.policy": ("delete",)}


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("retention.ms", "soon", "not a number of type LONG"),
        ("retention.ms", "1e3", "not a number of type LONG"),
        ("retention.ms", True, "not a number"),
        ("retention.ms", None, "the value must not be null"),
        ("retention.ms", "9" * 19, "does not fit into type LONG"),
        ("retention.ms", "-2", "use a value from -1"),
        ("segment.bytes", "2147483648", "does not fit into type INT"),
        ("segment.bytes", "1000", "use a value from 1048576"),
        ("min.cleanable.dirty.ratio", "2", "use a value from 0 to 1"),
        ("min.cleanable.dirty.ratio", "half", "not a number"),
        ("cleanup.policy", "delete,shred", "'shred' is not one of delete, compact"),
        ("compression.type", "brotli", "use one of producer, uncompressed"),
        ("preallocate", "yes", "use true or false"),
    ],
)
def test_wrong_value_is_refused_with_its_reason(name, value, reason):
    with pytest.raises(InvalidConfigError, match=reason) as refused:
        parse_topic_configs({name: value})

    assert refused.value.name == name
    assert refused.value.code is ErrorCode.INVALID_CONFIG


def test_an_empty_choice_is_named_visibly():
    with pytest.raises(InvalidConfigError, match=r"use one of '' \(none\), org\.apache"):
        parse_broker_configs({"authorizer.class.name": "Mine"})


def test_wrong_value_is_not_repeated_at_length():
    with pytest.raises(InvalidConfigError) as refused:
        parse_topic_configs({"compression.type": "x" * 1_000_000})

    assert len(str(refused.value)) < 300


def test_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(InvalidConfigError, match=r"did you mean 'retention\.ms'"):
        parse_topic_configs({"retention.sm": "1"})
    with pytest.raises(InvalidConfigError, match=r"unknown broker configuration 'zzz'$"):
        parse_broker_configs({"zzz": "1"})


def test_topic_value_wins_over_broker_value_over_default():
    layers = BrokerConfigLayers.of({"log.segment.bytes": 2_000_000})

    assert layers.log_config({}).segment_bytes == 2_000_000
    assert layers.log_config({"segment.bytes": 3_000_000}).segment_bytes == 3_000_000
    assert layers.log_config({}).retention_bytes == -1


def test_dynamic_values_win_over_static_ones():
    layers = BrokerConfigLayers.of({"log.retention.ms": 1})
    assert layers.broker_config().log_retention_ms == 1

    layers.dynamic_default = parse_broker_configs({"log.retention.ms": 2})
    assert layers.log_config({}).retention_ms == 2

    layers.dynamic = parse_broker_configs({"log.retention.ms": 3})
    assert layers.log_config({}).retention_ms == 3


@pytest.mark.parametrize(
    ("values", "retention_ms"),
    [
        ({}, 7 * 24 * 3_600_000),
        ({"log.retention.hours": 2}, 2 * 3_600_000),
        ({"log.retention.hours": 2, "log.retention.minutes": 3}, 3 * 60_000),
        ({"log.retention.minutes": 3, "log.retention.ms": 4}, 4),
        ({"log.retention.hours": -1}, -1),
    ],
)
def test_finer_unit_of_retention_wins(values, retention_ms):
    layers = BrokerConfigLayers.of(values)

    assert layers.log_config({}).retention_ms == retention_ms
    assert layers.broker_config().log_retention_ms == retention_ms


@pytest.mark.parametrize(
    ("values", "retention_ms"),
    [
        ({"log.retention.hours": 0, "log.retention.minutes": 0, "log.retention.ms": 4}, 4),
        ({"log.retention.hours": 0, "log.retention.minutes": 3}, 3 * 60_000),
        ({"log.retention.minutes": 0, "log.retention.ms": -1}, -1),
    ],
)
def test_a_retention_of_0_in_a_coarser_unit_has_no_effect(values, retention_ms):
    assert BrokerConfigLayers.of(values).log_config({}).retention_ms == retention_ms


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"log.retention.hours": 0}, "log.retention.hours"),
        ({"log.retention.minutes": 0, "log.retention.hours": 2}, "log.retention.minutes"),
        ({"log.retention.ms": 0, "log.retention.hours": 2}, "log.retention.ms"),
        ({"log.roll.hours": 0, "log.roll.ms": 2}, "log.roll.hours"),  # as in Kafka
    ],
)
def test_an_effective_time_of_0_is_refused(values, name):
    with pytest.raises(InvalidConfigError) as refused:
        BrokerConfigLayers.of(values)

    assert refused.value.name == name
    assert str(refused.value).startswith(name)


def test_topic_name_given_to_a_broker_is_its_default_for_topics():
    layers = BrokerConfigLayers.of({"retention.ms": 5, "min.insync.replicas": 2})

    assert layers.static == {"log.retention.ms": 5, "min.insync.replicas": 2}
    assert layers.log_config({}).min_insync_replicas == 2


def test_described_topic_configuration_says_where_its_value_comes_from():
    layers = BrokerConfigLayers.of({"log.retention.hours": 2})
    described = layers.describe_topic(parse_topic_configs({"segment.bytes": "2000000"}))

    overridden = entry(described, "segment.bytes")
    assert (overridden.value, overridden.source) == ("2000000", ConfigSource.TOPIC_CONFIG)
    assert overridden.synonyms == (
        ("segment.bytes", "2000000", ConfigSource.TOPIC_CONFIG),
        ("log.segment.bytes", "1073741824", ConfigSource.DEFAULT_CONFIG),
    )
    inherited = entry(described, "retention.ms")
    # Where log.retention.ms itself is not set, Kafka does not look at what stands in for it.
    assert (inherited.value, inherited.source) == ("7200000", ConfigSource.DEFAULT_CONFIG)
    default = entry(described, "cleanup.policy")
    assert (default.value, default.is_default) == ("delete", True)
    assert not default.is_read_only


def test_described_broker_configuration_says_whether_it_can_change():
    described = BrokerConfigLayers.of({"num.partitions": 3}).describe_broker()

    assert entry(described, "num.partitions").value == "3"
    assert entry(described, "num.partitions").is_read_only
    assert not entry(described, "message.max.bytes").is_read_only


def test_fallbacks_of_a_configuration_are_shown_after_it_layer_by_layer():
    layers = BrokerConfigLayers.of({"log.roll.ms": 5, "log.roll.hours": 2})
    layers.dynamic = {"log.roll.ms": 9}

    assert entry(layers.describe_broker(), "log.roll.ms").synonyms == (
        ("log.roll.ms", "9", ConfigSource.DYNAMIC_BROKER_CONFIG),
        ("log.roll.ms", "5", ConfigSource.STATIC_BROKER_CONFIG),
        ("log.roll.hours", "2", ConfigSource.STATIC_BROKER_CONFIG),
        ("log.roll.hours", "168", ConfigSource.DEFAULT_CONFIG),
    )
    unset = entry(BrokerConfigLayers.of({}).describe_broker(), "log.roll.ms")
    assert (unset.value, unset.source, unset.synonyms) == (None, ConfigSource.DEFAULT_CONFIG, ())


def test_every_broker_configuration_of_kafka_is_described():
    layers = BrokerConfigLayers.of({"num.io.threads": "4", "ssl.key.password": "secret"})
    described = layers.describe_broker()

    assert len(described) == 340
    set_here = entry(described, "num.io.threads")
    assert (set_here.value, set_here.source) == ("4", ConfigSource.STATIC_BROKER_CONFIG)
    assert not set_here.is_read_only
    assert "no effect" in set_here.definition.doc
    secret = entry(described, "ssl.key.password")
    assert (secret.value, secret.definition.is_sensitive) == (None, True)
    assert "secret" not in str(secret.synonyms)
    assert layers.ineffective() == ["num.io.threads"]
    with pytest.raises(InvalidConfigError, match="not a number of type INT"):
        BrokerConfigLayers.of({"num.io.threads": "many"})


def test_own_configurations_are_those_of_kafka():
    rows = {name: row for name, *row in kafka_rows()}
    for name, definition in BROKER_DEFINITIONS.items():
        if definition.is_internal or name == "node.id":  # which has no default in Kafka
            continue
        default = definition.format(definition.default)
        mode = definition.update_mode.value
        expected = [definition.type.name.lower(), "\\N" if default is None else default, mode]
        assert rows[name] == expected, name


def test_unknown_dynamic_configurations_are_kept():
    layers = BrokerConfigLayers.of({})
    layers.dynamic_default = stored_broker_configs({"foo.bar": "1", "max.connections": "-1"})

    assert layers.dynamic_default == {"foo.bar": "1"}
    (unknown,) = layers.describe_all_brokers()
    assert (unknown.name, unknown.value, unknown.is_read_only) == ("foo.bar", None, True)
    assert unknown.source is ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    assert entry(layers.describe_broker(), "foo.bar").synonyms == (
        ("foo.bar", None, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
    )


def test_internal_configurations_are_not_shown_unless_they_are_set():
    layers = BrokerConfigLayers.of({})

    assert "internal.segment.bytes" not in [e.name for e in layers.describe_topic({})]
    shown = layers.describe_topic({"internal.segment.bytes": 100})
    assert entry(shown, "internal.segment.bytes").value == "100"
    assert layers.log_config({"internal.segment.bytes": 100}).max_segment_bytes == 100


def test_every_topic_default_is_a_broker_configuration_of_the_same_type():
    for definition in TOPIC_DEFINITIONS.values():
        for fallback in definition.fallbacks:
            assert BROKER_DEFINITIONS[fallback.name].type == definition.type


@pytest.mark.parametrize("definition", [*TOPIC_DEFINITIONS.values(), *BROKER_DEFINITIONS.values()])
def test_every_default_is_a_legal_value(definition):
    assert definition.parse(definition.format(definition.default)) == definition.default
    assert definition.doc.endswith(".")


KAFKAS_OTHER_TOPIC_CONFIGS = {
    "follower.replication.throttled.replicas": "0:1,2:3",
    "leader.replication.throttled.replicas": "*",
    "local.retention.bytes": "-2",
    "local.retention.ms": "5",
    "remote.log.copy.disable": "true",
    "remote.log.delete.on.disable": "false",
    "remote.storage.enable": "false",
}


@pytest.mark.parametrize(("name", "value"), KAFKAS_OTHER_TOPIC_CONFIGS.items())
def test_configurations_of_topics_without_an_effect_are_kept_and_shown(name, value):
    check_topic_configs({name: value})

    described = entry(
        BrokerConfigLayers.of({}).describe_topic(parse_topic_configs({name: value})), name
    )
    assert described.value == value
    assert not described.definition.has_effect


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("follower.replication.throttled.replicas", "orders"),
        ("leader.replication.throttled.replicas", "*,0:1"),
        ("local.retention.bytes", "-3"),
        ("local.retention.ms", "-3"),
        ("remote.log.copy.disable", "maybe"),
    ],
)
def test_invalid_values_without_an_effect_are_refused(name, value):
    with pytest.raises(InvalidConfigError, match=name):
        check_topic_configs({name: value})


def test_topics_have_no_tiered_storage():
    with pytest.raises(InvalidConfigError, match="Tiered Storage functionality is disabled"):
        check_topic_configs({"remote.storage.enable": "true"})


def test_what_is_invalid_of_a_stored_topic_is_ignored_and_explained():
    values, errors = stored_topic_configs(
        {"retention.ms": "5", "message.format.version": "2.8", "segment.bytes": "1"}
    )

    assert values == {"retention.ms": 5}
    assert [error.name for error in errors] == ["message.format.version", "segment.bytes"]
