"""Check the names of options: which work, which have no effect, which are misspelt. Pure.

Spark's own connector accepts any option and ignores the unknown ones. This connector does the same
and logs which have no effect, since a query that moves here by changing its format keeps all its
options. Only a name that is nearly that of an option is an error: a query that ignores
``maxOffsetPerTriger`` fails much later.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from enum import Enum

from pyk.clients.config import ConsumerConfig, ProducerConfig
from pyk.spark_connector.errors import OptionError

SUBSCRIPTIONS = ("assign", "subscribe", "subscribePattern")
SOURCE_OPTIONS = (
    *SUBSCRIPTIONS,
    "startingOffsets",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "endingOffsets",
    "endingTimestamp",
    "endingOffsetsByTimestamp",
    "failOnDataLoss",
    "includeHeaders",
    "minPartitions",
    "maxRecordsPerPartition",
    "minRecordsPerPartition",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "groupIdPrefix",
    "commitOffsetsToGroup",
)
SINK_OPTIONS = ("topic",)
# Options that Spark adds, or that its DataFrame readers and writers use themselves.
SPARK_OPTIONS = ("checkpointLocation", "path", "queryName")
SPARK_INTERNAL = "__"
# Options of Spark's other sources. Some are similar to options of this one.
OTHER_SOURCES_OPTIONS = (
    "header",
    "inferSchema",
    "maxBytesPerTrigger",
    "maxFilesPerTrigger",
    "mergeSchema",
    "multiLine",
    "numPartitions",
    "rowsPerSecond",
)
KAFKA = "kafka."
SIMILARITY = 0.75
"""How similar two names must be for one to be a misspelling of the other."""


class Role(Enum):
    """The role of a query: what it does with the topics."""

    READ = "read"
    WRITE = "write"


OPTIONS = {Role.READ: SOURCE_OPTIONS, Role.WRITE: SINK_OPTIONS}


def check_names(names: Iterable[str], role: Role) -> tuple[str, ...]:
    """Return a sentence about each option that has no effect; names are in lower case.

    Raises :class:`OptionError` for a name that is misspelt.
    """
    own = {known.lower() for known in (*OPTIONS[role], *SPARK_OPTIONS)}
    others = {known.lower(): known for known in (*SOURCE_OPTIONS, *SINK_OPTIONS)}
    notices = []
    for name in sorted(names):
        if name in own or name.startswith((KAFKA, SPARK_INTERNAL)):
            continue
        if name not in others:
            _refuse_misspelt(name)
        notices.append(f"option {others.get(name, name)!r} has no effect on a {role.value}")
    return tuple(notices)


def _refuse_misspelt(name: str) -> None:
    if _is_of_a_client(name):
        raise OptionError(f"unknown option {name!r}; did you mean '{KAFKA}{name}'?")
    if name in {other.lower() for other in OTHER_SOURCES_OPTIONS}:
        return
    lower = {known.lower(): known for known in (*SOURCE_OPTIONS, *SINK_OPTIONS, *SPARK_OPTIONS)}
    near = difflib.get_close_matches(name, lower, n=1, cutoff=SIMILARITY)
    if near:
        raise OptionError(f"unknown option {name!r}; did you mean {lower[near[0]]!r}?")


def _is_of_a_client(name: str) -> bool:
    plain = name.replace(".", "_")
    return plain in ConsumerConfig.options() or plain in ProducerConfig.options()
