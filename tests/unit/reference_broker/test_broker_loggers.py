"""The loggers of a broker in its process."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from pyk.protocol.messages.incremental_alter_configs import AlterableConfig
from pyk.reference_broker.broker_loggers import BrokerLoggers
from pyk.reference_broker.controller.configs import ConfigOperation

SET, DELETE = ConfigOperation.SET, ConfigOperation.DELETE


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    root = logging.Logger("broker", logging.INFO)
    root.manager = logging.Manager(logging.RootLogger(logging.ERROR))
    root.manager.loggerDict["broker"] = root
    for name in ("broker", "broker.disk.log", "broker.network", "brokers", "client"):
        root.manager.getLogger(name)
    return root


def alter(loggers: BrokerLoggers, name: str, operation: ConfigOperation, value: str | None) -> None:
    changes = [(operation, AlterableConfig(name=name, value=value))]
    loggers.check(changes)
    loggers.alter(changes)


def test_only_loggers_of_the_broker_are_named(root: logging.Logger) -> None:
    assert list(BrokerLoggers(root).levels()) == ["root", "broker.disk.log", "broker.network"]


@pytest.mark.parametrize(
    ("level", "name"),
    [
        (1, "TRACE"),
        (5, "TRACE"),
        (10, "DEBUG"),
        (25, "INFO"),
        (30, "WARN"),
        (45, "ERROR"),
        (60, "FATAL"),
    ],
)
def test_a_level_of_python_has_the_name_of_the_next_lower_one_of_kafka(
    root: logging.Logger, level: int, name: str
) -> None:
    root.setLevel(level)

    assert BrokerLoggers(root).levels() == dict.fromkeys(
        ["root", "broker.disk.log", "broker.network"], name
    )


def test_a_level_counts_for_what_is_logged(root: logging.Logger) -> None:
    loggers, logger = BrokerLoggers(root), root.manager.getLogger("broker.network")

    alter(loggers, "broker.network", SET, "TRACE")
    assert logger.isEnabledFor(5)
    alter(loggers, "broker.network", SET, "FATAL")
    assert not logger.isEnabledFor(logging.ERROR)
    alter(loggers, "broker.network", DELETE, None)
    assert logger.getEffectiveLevel() == logging.INFO


def test_a_broker_that_stops_gives_back_the_levels_that_were_there(root: logging.Logger) -> None:
    loggers, logger = BrokerLoggers(root), root.manager.getLogger("broker.network")
    logger.setLevel(logging.WARNING)
    for level in ("DEBUG", "ERROR"):
        alter(loggers, "broker.network", SET, level)
        alter(loggers, "root", SET, level)

    loggers.restore()

    assert (logger.level, root.level) == (logging.WARNING, logging.INFO)
