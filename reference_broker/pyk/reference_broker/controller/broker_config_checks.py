"""Which configurations of brokers may change while they run, and to what. Pure.

What would keep the broker from serving anybody, now or after its next start, is refused: nobody
could take it back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.config import (
    BrokerConfig,
    InvalidConfigError,
    UpdateMode,
    broker_definition,
    check_assignment_interval,
    parse_dynamic_broker_config,
)
from pyk.reference_broker.config.layers import listener_and_name
from pyk.reference_broker.errors import ApiError

ALL_BROKERS = ""
MIN_INSYNC_REPLICAS = "min.insync.replicas"

_FIXED = (
    "listeners",
    "listener.security.protocol.map",
    "sasl.enabled.mechanisms",
    "sasl.mechanism.inter.broker.protocol",
)
"""Configurations that Kafka can change while it runs and this broker cannot."""

_FILES_OF_TLS = (
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
)
"""These change for one listener each, by its name."""

_OF_LISTENER = (
    *_FILES_OF_TLS,
    "max.connections",
    "max.connection.creation.rate",
    "num.network.threads",
)
"""All that can change for a listener that there is."""

_FOR_ALL_LISTENERS = ("max.connections", "max.connection.creation.rate", "num.network.threads")
"""What one listener may have for itself on all brokers."""

_MIN_DEDUPE_BYTES = 1 << 20
_PER_IP = "max.connections.per.ip"
_OVERRIDES = "max.connections.per.ip.overrides"
_FROM_RETENTION = -2

_CLASSES = {
    "metric.reporters": ("org.apache.kafka.common.metrics.JmxReporter",),
    "principal.builder.class": (
        "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
    ),
    "ssl.engine.factory.class": (),
}
"""What a broker without other classes of Java can be given."""


def check_broker_configs(
    name: str,
    changed: Mapping[str, str],
    config: BrokerConfig,
    *,
    removed: Collection[str] = (),
) -> None:
    """Raise :class:`ApiError` unless the broker, or all for "", may be given these.

    Unknown names are accepted, as in Kafka. ``removed`` are names that return to their defaults.
    """
    _refuse("Cannot update these configs dynamically", filter(_is_fixed, changed))
    _refuse(
        "These security configs can be dynamically updated only per-listener using the listener "
        "prefix",
        (each for each in changed if each in _FILES_OF_TLS),
    )
    try:
        values = {each: parse_dynamic_broker_config(each, changed[each]) for each in changed}
        for each in changed:
            if definition := broker_definition(each):
                definition.check_items(changed[each])
        if name == ALL_BROKERS:
            _refuse(
                "Cannot update these configs at default cluster level, broker id must be specified",
                filter(_is_per_broker, changed),
            )
        _refuse(
            "Configs cannot be updated dynamically for an existing listener, restart the broker",
            filter(_is_fixed_for_listener, changed),
        )
        for each, value in values.items():
            check_assignment_interval(each, value, config)
        _check_compaction(values, config)
        _check_connections_per_ip(values, removed, config)
        _check_local_retention(values, config)
        _check_classes(values)
    except InvalidConfigError as error:
        raise ApiError(ErrorCode.INVALID_REQUEST, str(error)) from None


def _refuse(why: str, names: Iterable[str]) -> None:
    found = ", ".join(names)
    if found:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"{why}: [{found}]")


def _is_fixed(name: str) -> bool:
    definition = broker_definition(name)
    if name in _FIXED:
        return True
    is_of_listener = listener_and_name(name) is not None
    return definition is not None and definition.is_read_only and not is_of_listener


def _is_fixed_for_listener(name: str) -> bool:
    found = listener_and_name(name)
    is_known = found is not None and broker_definition(name) is not None
    return is_known and found[1] not in _OF_LISTENER  # type: ignore[index]


def _is_per_broker(name: str) -> bool:
    found = listener_and_name(name)
    if found is not None:
        return found[1] not in _FOR_ALL_LISTENERS
    definition = broker_definition(name)
    return definition is not None and definition.update_mode is UpdateMode.PER_BROKER


def _check_compaction(values: Mapping[str, object], config: BrokerConfig) -> None:
    size_name, threads_name = "log.cleaner.dedupe.buffer.size", "log.cleaner.threads"
    if size_name not in values and threads_name not in values:
        return
    threads = values.get(threads_name, config.log_cleaner_threads)
    size = values.get(size_name, config.log_cleaner_dedupe_buffer_size)
    assert isinstance(threads, int)
    assert isinstance(size, int)
    if threads < 1:
        raise InvalidConfigError(f"{threads_name} must be at least 1", name=threads_name)
    if size < threads * _MIN_DEDUPE_BYTES:
        raise InvalidConfigError(
            f"{size_name} must be at least 1MB per cleaner thread.", name=size_name
        )


def _check_connections_per_ip(
    values: Mapping[str, object], removed: Collection[str], config: BrokerConfig
) -> None:
    limit = values.get(_PER_IP, None if _PER_IP in removed else config.max_connections_per_ip)
    overrides = values.get(
        _OVERRIDES, "" if _OVERRIDES in removed else config.max_connections_per_ip_overrides
    )
    if limit == 0 and not overrides:
        raise InvalidConfigError(
            f"{_PER_IP} can be 0 only if {_OVERRIDES} is set: nobody could connect to the broker "
            "any more",
            name=_PER_IP,
        )


def _check_local_retention(values: Mapping[str, object], config: BrokerConfig) -> None:
    """Raise if more of a partition would be kept here than is kept at all (KIP-405)."""
    for unit in ("ms", "bytes"):
        local_name, name = f"log.local.retention.{unit}", f"log.retention.{unit}"
        if local_name not in values and name not in values:
            continue
        local = values.get(local_name, getattr(config, local_name.replace(".", "_")))
        retention = values.get(name, getattr(config, name.replace(".", "_")))
        assert isinstance(local, int)
        assert isinstance(retention, int)
        if local == _FROM_RETENTION or retention < 0:
            continue
        if local == -1:
            raise InvalidConfigError(
                f"{local_name} must not be -1, as {name} is {retention}", name=local_name
            )
        if local > retention:
            raise InvalidConfigError(
                f"{local_name} must be {retention} at most, as {name} is", name=local_name
            )


def _check_classes(values: Mapping[str, object]) -> None:
    for name in _CLASSES.keys() & values.keys():
        value = values[name]
        given = value if isinstance(value, tuple) else (value,)
        for each in given:
            if each not in _CLASSES[name]:
                known = ", ".join(_CLASSES[name]) or "none"
                raise InvalidConfigError(
                    f"Class {each} could not be found for {name}: the reference broker loads no "
                    f"classes of Java (known: {known})",
                    name=name,
                )


def check_min_insync_replicas(
    name: str, changed: Collection[str], removed: Collection[str]
) -> None:
    """Raise unless all brokers keep one value, which eligible leader replicas need (KIP-966)."""
    is_for_all = name == ALL_BROKERS
    if not is_for_all and (MIN_INSYNC_REPLICAS in changed or MIN_INSYNC_REPLICAS in removed):
        what = "Broker-level min.insync.replicas cannot be altered"
    elif is_for_all and MIN_INSYNC_REPLICAS in removed:
        what = "Cluster-level min.insync.replicas cannot be removed"
    else:
        return
    raise ApiError(ErrorCode.INVALID_CONFIG, f"{what} while ELR is enabled.")
