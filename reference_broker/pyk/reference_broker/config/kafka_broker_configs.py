"""The broker configurations of Apache Kafka that have no effect here.

Applications ask a broker for its configuration and look for names that they know, so all of them
are listed, with Kafka's defaults. The table is read on first use.
"""

from __future__ import annotations

import pkgutil
from functools import cache

from pyk.reference_broker.config.broker_config import BrokerConfig
from pyk.reference_broker.config.definition import (
    ConfigDefinition,
    ConfigType,
    UpdateMode,
    definitions_of,
)
from pyk.reference_broker.config.listener_config import ListenerConfig
from pyk.runtime import slotted

NULL = "\\N"
DOC = (
    "Has no effect in the reference broker. What it does in Apache Kafka: "
    "https://kafka.apache.org/documentation/#brokerconfigs_"
)

_THREADS = (
    "background.threads",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.expiration.thread.pool.size",
    "remote.log.manager.follower.thread.pool.size",
    "remote.log.reader.threads",
)
_MINIMUMS = {
    **dict.fromkeys(_THREADS, 1),
    "group.coordinator.cached.buffer.max.bytes": 524_288,
    "remote.fetch.max.wait.ms": 1,
    "remote.list.offsets.request.timeout.ms": 1,
    "remote.log.index.file.cache.total.size.bytes": 1,
    "remote.log.manager.copy.max.bytes.per.second": 1,
    "remote.log.manager.fetch.max.bytes.per.second": 1,
    "share.coordinator.cached.buffer.max.bytes": 524_288,
}
"""The least values of those that change while a broker runs."""


@cache
def all_broker_definitions() -> dict[str, ConfigDefinition]:
    """Return all broker configurations of Kafka by name, in order."""
    own = {**definitions_of(BrokerConfig), **definitions_of(ListenerConfig)}
    listed = [_definition(row) for row in kafka_rows()]
    return {each.name: own.get(each.name, each) for each in listed}


@cache
def dynamic_quotas() -> dict[str, ConfigDefinition]:
    """Return the configurations of replication that brokers have only while they run."""
    names = (
        "follower.replication.throttled.rate",
        "leader.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    )
    return {
        name: ConfigDefinition(
            name=name,
            type=ConfigType.LONG,
            default=None,
            minimum=0,
            update_mode=UpdateMode.CLUSTER_WIDE,
            has_effect=False,
            doc=f"{DOC}{name}.",
        )
        for name in names
    }


def kafka_rows() -> list[tuple[str, str, str, str]]:
    """Return the rows of the table: name, type, default and update mode."""
    assert __package__ is not None
    table = pkgutil.get_data(__package__, "kafka_broker_configs.tsv")
    assert table is not None
    lines = [line for line in table.decode().splitlines() if not line.startswith("#")]
    return [(row[0], row[1], row[2], row[3]) for row in (line.split("\t") for line in lines)]


def _definition(row: tuple[str, str, str, str]) -> ConfigDefinition:
    name, kind, default, mode = row
    definition = ConfigDefinition(
        name=name,
        type=ConfigType[kind.upper()],
        default=None,
        minimum=_MINIMUMS.get(name),
        update_mode=UpdateMode(mode),
        has_effect=False,
        doc=f"{DOC}{name}.",
    )
    if default == NULL:
        return definition
    return slotted.evolve(definition, default=definition.parse(default))
