"""Offsets as Spark keeps them: the JSON of Spark's own Kafka source, in one canonical form.

``{"orders": {"0": 23, "1": 7}}`` holds, per partition, the next offset to read. Spark compares the
*text* of two offsets to learn whether there is new data, so equal offsets must have equal text:
topics and partitions are sorted.

pyk adds two things that Spark's own source does not know. Both are *names* that no topic can have,
each with an empty map: Spark's own source finds no partitions under them, so a checkpoint can move
here and back::

    {"@id:orders:oKTBKFEkRY6xlCGNrc_uLg": {}, "@start": {}, "@start:orders:0=20,1=7": {},
     "orders": {"0": 23, "1": 7}}

``@id`` is the id of each topic: a topic that was deleted and created again has another id, and the
old offsets are not valid in it. ``@start``, in the end of batch 0 only, is where the query really
began. Spark asks for the initial offset more than once (twice for batch 0, again when batch 0 is
replayed after a restart) and has no place to keep the first result; with ``startingOffsets=latest``
a later result would skip the records that arrived in between.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from pyk.clients.topic_partition import TopicPartition
from pyk.spark_connector.errors import CheckpointError, OptionError

EXTRA = "@"
START = "@start"
TOPIC_ID = "@id"
LATEST = -1
EARLIEST = -2
MAX_OFFSET = 2**63 - 1

OffsetMap = Mapping[TopicPartition, int]
JsonOffsets = dict[str, Any]


@attrs.frozen
class StreamOffset:
    """The next offset of every partition of a stream, and for batch 0 where the query began."""

    offsets: OffsetMap
    start: OffsetMap | None = None
    topic_ids: Mapping[str, str] = attrs.field(factory=dict)
    """The id of each topic that is known."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> StreamOffset:
        """Return the offset that :meth:`to_json` or Spark's own Kafka source wrote.

        Raises :class:`CheckpointError` for anything else.
        """
        topics = {name: below for name, below in value.items() if not name.startswith(EXTRA)}
        extras = {name: below for name, below in value.items() if name.startswith(EXTRA)}
        try:
            start, topic_ids = _from_extras(extras)
            return cls(_from_nested(topics), start, topic_ids)
        except (ValueError, TypeError, AttributeError):
            raise CheckpointError(f"the checkpoint holds invalid offsets: {value!r}") from None

    def to_json(self) -> JsonOffsets:
        """Return the canonical form: equal offsets have equal text."""
        nested: JsonOffsets = {
            f"{TOPIC_ID}:{topic}:{self.topic_ids[topic]}": {} for topic in sorted(self.topic_ids)
        }
        if self.start is not None:
            nested[START] = {}
            for topic, offsets in _to_nested(self.start).items():
                pairs = ",".join(f"{number}={offset}" for number, offset in offsets.items())
                nested[f"{START}:{topic}:{pairs}"] = {}
        return nested | _to_nested(self.offsets)


def parse_offsets(text: str, option: str) -> dict[TopicPartition, int]:
    """Return the offsets that an option gives per partition; -1 is latest, -2 earliest.

    Raises :class:`OptionError` with an example if ``text`` is not such JSON.
    """
    offsets = _parse_nested(text, option, '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}')
    for partition, offset in offsets.items():
        if not EARLIEST <= offset <= MAX_OFFSET:
            raise OptionError(
                f"{option}: invalid offset {offset} for {partition} (-1 is latest, -2 earliest)"
            )
    return offsets


def parse_timestamps(text: str, option: str) -> dict[TopicPartition, int]:
    """Return the milliseconds that an option gives per partition; raise :class:`OptionError`."""
    return _parse_nested(text, option, '{"topicA":{"0":1700000000000,"1":1700000000000}}')


def parse_partitions(text: str, option: str) -> frozenset[TopicPartition]:
    """Return the partitions that an option names; raise :class:`OptionError` if it names none."""
    try:
        partitions = frozenset(
            TopicPartition(topic, _partition(number))
            for topic, numbers in json.loads(text).items()
            for number in _list(numbers)
        )
    except (ValueError, TypeError, AttributeError):
        raise _not_like(option, '{"topicA":[0,1],"topicB":[0,1]}', text) from None
    if not partitions:
        raise OptionError(f"{option} names no partition: {text!r}")
    return partitions


def describe(partitions: Iterable[TopicPartition]) -> str:
    """Return partitions for a message: sorted, at most 20 of them by name."""
    names = [str(partition) for partition in sorted(partitions)]
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def _parse_nested(text: str, option: str, example: str) -> dict[TopicPartition, int]:
    try:
        return _from_nested(json.loads(text))
    except (ValueError, TypeError, AttributeError):
        raise _not_like(option, example, text) from None


def _from_nested(value: Mapping[str, Any]) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic, _partition(number)): _integer(offset)
        for topic, partitions in value.items()
        for number, offset in partitions.items()
    }


def _from_extras(
    extras: Mapping[str, Any],
) -> tuple[dict[TopicPartition, int] | None, dict[str, str]]:
    start: dict[TopicPartition, int] | None = None
    topic_ids = {}
    for name, below in extras.items():
        what, _, rest = name.partition(":")
        topic, _, text = rest.partition(":")
        if name == START:
            # Earlier checkpoints hold the start below this name.
            start = (start or {}) | _from_nested(below)
        elif what == START:
            pairs = (pair.split("=") for pair in text.split(","))
            start = (start or {}) | _from_nested({topic: dict(pairs)})
        elif what == TOPIC_ID:
            topic_ids[topic] = text
        else:
            raise ValueError(name)
    return start, topic_ids


def _to_nested(offsets: OffsetMap) -> JsonOffsets:
    nested: JsonOffsets = {}
    for partition in sorted(offsets):
        nested.setdefault(partition.topic, {})[str(partition.partition)] = offsets[partition]
    return nested


def _integer(value: object) -> int:
    """Return a JSON integer, or one in a str; raise for ``1.5``, ``true`` and ``null``."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise TypeError(value)
    return int(value)


def _partition(value: object) -> int:
    number = _integer(value)
    if not 0 <= number < 2**31:
        raise ValueError(number)
    return number


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError(value)
    return value


def _not_like(option: str, example: str, text: str) -> OptionError:
    return OptionError(f"{option} should look like {example}, but is {text!r}")
