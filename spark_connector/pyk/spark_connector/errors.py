"""The connector's errors.

Spark passes a Python error to the driver as text and drops its class. So each message starts with
a stable code in brackets, as Spark's own messages do, and names the topic-partition and offsets.
"""

from __future__ import annotations

from pyk.clients.errors import KafkaError, SeveralErrors
from pyk.protocol.errors import ErrorCode

MOST_ERRORS = 5
"""How many errors of one call a message names; the others are most often the same."""


class ConnectorError(Exception):
    """Base of the connector's own errors; the message starts with ``[code]``."""

    code = "PYK_SPARK"

    def __str__(self) -> str:
        return f"[{self.code}] {super().__str__()}"


class OptionError(ConnectorError, ValueError):
    """An option is missing or unknown, or its value is invalid."""

    code = "PYK_OPTION"


class SchemaError(ConnectorError, ValueError):
    """The columns to read or to write do not fit Kafka records."""

    code = "PYK_SCHEMA"


class CheckpointError(ConnectorError, ValueError):
    """The checkpoint holds offsets that no Kafka source wrote."""

    code = "PYK_CHECKPOINT"


class InstallationError(ConnectorError):
    """A package that reading or writing needs is missing from this Python."""

    code = "PYK_INSTALLATION"


class DataLossError(ConnectorError):
    """Offsets that the query had to read are in the log no more, and ``failOnDataLoss`` is on."""

    code = "PYK_DATA_LOSS"


class ReadError(ConnectorError):
    """Records could not be read; the message has Kafka's error code or what the task waited for."""

    code = "PYK_READ_FAILED"


class WriteError(ConnectorError):
    """Rows were not acknowledged; the message has topic, partition and Kafka's error code."""

    code = "PYK_WRITE_FAILED"


def describe_error(error: KafkaError) -> str:
    """Return an error with its topic-partition and Kafka's name and number for it, if it has them.

    The class of an error does not reach the driver of a query; its text does.
    """
    if isinstance(error, SeveralErrors):
        return "; ".join(describe_error(one) for one in list(error.errors.values())[:MOST_ERRORS])
    where = "" if error.partition is None else f"{error.topic}-{error.partition}: "
    code = None if error.code is None else ErrorCode(error.code)
    name = type(error).__name__ if code is None else f"{code.name} ({code:d})"
    text = str(error)
    return where + (text if text.startswith(name) else f"{name}: {text}")
