"""The connector's errors.

Spark passes a Python error to the driver as text and drops its class. So each message starts with
a stable code in brackets, as Spark's own messages do, and names the topic-partition and offsets.
"""

from __future__ import annotations


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
