"""What the connector raises.

Spark hands a Python error to the driver as text and drops its class, so each message starts with
a stable code in brackets, as Spark's own do, and names the topic-partition and the offsets that it
is about.
"""

from __future__ import annotations


class ConnectorError(Exception):
    """Base of the connector's own errors; the message starts with ``[code]``."""

    code = "PYK_SPARK"

    def __str__(self) -> str:
        return f"[{self.code}] {super().__str__()}"


class OptionError(ConnectorError, ValueError):
    """An option is missing, unknown, or has a value that means nothing."""

    code = "PYK_OPTION"


class SchemaError(ConnectorError, ValueError):
    """The columns asked for, or those to write, do not fit Kafka records."""

    code = "PYK_SCHEMA"


class CheckpointError(ConnectorError, ValueError):
    """The checkpoint holds offsets that no Kafka source wrote."""

    code = "PYK_CHECKPOINT"


class InstallationError(ConnectorError):
    """A package that reading or writing needs is missing from this Python."""

    code = "PYK_INSTALLATION"


class DataLossError(ConnectorError):
    """Offsets that the query was to read have left the topic, and ``failOnDataLoss`` is on."""

    code = "PYK_DATA_LOSS"


class ReadError(ConnectorError):
    """Records could not be read; the message carries Kafka's error code or what was awaited."""

    code = "PYK_READ_FAILED"


class WriteError(ConnectorError):
    """Rows were not acknowledged; the message carries topic, partition and Kafka's error code."""

    code = "PYK_WRITE_FAILED"
