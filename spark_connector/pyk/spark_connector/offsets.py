"""Offsets as Spark keeps them: the JSON of Spark's own Kafka source, in one canonical form.

``{"orders": {"0": 23, "1": 7}}`` says, per partition, the next offset to read. Spark compares the
*text* of two offsets to learn whether there is new data, so one meaning must have one text: topics
and partitions are sorted.

The end of batch 0 also holds where the query truly began. Spark asks for the initial offset more
than once (twice for batch 0, again when batch 0 is replayed after a restart) and offers no place to
keep the first answer; with ``startingOffsets=latest`` a later answer would skip what arrived in
between. So batch 0 carries its own start::

    {"@start": {"orders": {"0": 20, "1": 7}}, "orders": {"0": 23, "1": 7}}

``@`` cannot be part of a topic's name. Later offsets are exactly those of Spark's source.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from pyk.clients.topic_partition import TopicPartition
from pyk.spark_connector.errors import CheckpointError, OptionError

START = "@start"
LATEST = -1
EARLIEST = -2
MAX_OFFSET = 2**63 - 1

OffsetMap = Mapping[TopicPartition, int]
JsonOffsets = dict[str, Any]


@attrs.frozen
class StreamOffset:
    """A place in a stream: the next offset of every partition, and for batch 0 where it began."""

    offsets: OffsetMap
    start: OffsetMap | None = None

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> StreamOffset:
        """Return the offset that :meth:`to_json` or Spark's own Kafka source wrote.

        Raises :class:`CheckpointError` for anything else.
        """
        try:
            offsets = _from_nested({topic: value[topic] for topic in value if topic != START})
            start = _from_nested(value[START]) if START in value else None
        except (ValueError, TypeError, AttributeError):
            raise CheckpointError(f"the checkpoint holds {value!r}, which are no offsets") from None
        return cls(offsets, start)

    def to_json(self) -> JsonOffsets:
        """Return the canonical form: equal offsets have equal text."""
        nested: JsonOffsets = {} if self.start is None else {START: _to_nested(self.start)}
        return nested | _to_nested(self.offsets)


def parse_offsets(text: str, option: str) -> dict[TopicPartition, int]:
    """Return the offsets that an option gives per partition; -1 is latest, -2 earliest.

    Raises :class:`OptionError` with an example when the text is not such JSON.
    """
    offsets = _parse_nested(text, option, '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}')
    for partition, offset in offsets.items():
        if not EARLIEST <= offset <= MAX_OFFSET:
            raise OptionError(
                f"{option}: {offset} for {partition} is no offset (-1 is latest, -2 earliest)"
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
    """Return partitions for a message: sorted, and no more than a screen holds."""
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


def _to_nested(offsets: OffsetMap) -> JsonOffsets:
    nested: JsonOffsets = {}
    for partition in sorted(offsets):
        nested.setdefault(partition.topic, {})[str(partition.partition)] = offsets[partition]
    return nested


def _integer(value: object) -> int:
    """Return an integer that was written as one; ``1.5``, ``true`` and ``null`` were not."""
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
