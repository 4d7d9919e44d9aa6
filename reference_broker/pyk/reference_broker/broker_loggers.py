"""The loggers of a broker, whose levels may change while it runs (KIP-412).

They have the names that they have in Python. The ``root`` of Kafka's tools is the one above all of
the broker's, so that an application that runs a broker keeps its own levels. As in Kafka, changes
last until the broker stops.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence

from pyk.protocol.errors import ErrorCode

from .controller.configs import Alteration, ConfigOperation
from .errors import ApiError

ROOT = "root"
LEVELS = {
    "TRACE": 5,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}
"""The levels that Kafka knows, and what they are in Python."""


class BrokerLoggers:
    """The loggers below one, with the levels that they obey."""

    def __init__(self, root: logging.Logger) -> None:
        self._root = root
        self._levels_before: dict[logging.Logger, int] = {}

    def levels(self) -> dict[str, str]:
        """Return the level of each logger that the code of the broker has used so far."""
        return {name: _level(logger) for name, logger in self._loggers().items()}

    def check(self, operations: Sequence[tuple[ConfigOperation, Alteration]]) -> None:
        """Raise :class:`ApiError` unless levels may change so."""
        if max(Counter(each.name for _, each in operations).values(), default=0) > 1:
            raise ApiError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
        loggers = self._loggers()
        for operation, each in operations:
            if operation not in (ConfigOperation.SET, ConfigOperation.DELETE):
                raise ApiError(
                    ErrorCode.INVALID_REQUEST,
                    f"{operation.name} operation is not allowed for the BROKER_LOGGER resource",
                )
            if operation is ConfigOperation.SET and each.value is None:
                raise ApiError(
                    ErrorCode.INVALID_REQUEST, f"Null value not supported for : {each.name}"
                )
            if each.name not in loggers:
                raise ApiError(ErrorCode.INVALID_CONFIG, f"Logger {each.name} does not exist!")
            if operation is ConfigOperation.SET and each.value not in LEVELS:
                raise ApiError(
                    ErrorCode.INVALID_CONFIG,
                    f"Cannot set the log level of {each.name} to {each.value} as it is not a "
                    f"supported log level. Valid log levels are {', '.join(sorted(LEVELS))}",
                )
            if operation is ConfigOperation.DELETE and each.name == ROOT:
                raise ApiError(
                    ErrorCode.INVALID_REQUEST,
                    "Removing the log level of the root logger is not allowed",
                )

    def alter(self, operations: Sequence[tuple[ConfigOperation, Alteration]]) -> None:
        """Change levels that were checked. A level that is removed is that of the logger above."""
        loggers = self._loggers()
        for operation, each in operations:
            logger = loggers[each.name]
            self._levels_before.setdefault(logger, logger.level)
            is_set = operation is ConfigOperation.SET and each.value is not None
            logger.setLevel(LEVELS[each.value or ""] if is_set else logging.NOTSET)

    def restore(self) -> None:
        """Give all loggers the levels that they had, for others in the process."""
        for logger, level in self._levels_before.items():
            logger.setLevel(level)
        self._levels_before.clear()

    def _loggers(self) -> dict[str, logging.Logger]:
        known = self._root.manager.loggerDict
        below = {
            name: logger
            for name, logger in sorted(known.items())
            if isinstance(logger, logging.Logger) and name.startswith(f"{self._root.name}.")
        }
        return {ROOT: self._root, **below}


def _level(logger: logging.Logger) -> str:
    """Return Kafka's name of the level that a logger obeys, the next lower one if it has none."""
    obeyed = logger.getEffectiveLevel()
    return next((name for name in reversed(LEVELS) if LEVELS[name] <= obeyed), "TRACE")
