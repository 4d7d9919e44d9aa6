"""Options of ``format("pyk")``: those of Spark's own Kafka source and sink, by the same rules.

Names are case-insensitive, as everywhere in Spark. ``kafka.*`` is client configuration in Kafka's
dotted names. This connector refuses and accepts the same options as Spark's own, and logs which of
them have no effect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import TypeVar

import attrs

from pyk.clients.topic_partition import TopicPartition
from pyk.spark_connector.errors import OptionError
from pyk.spark_connector.java_pattern import compile_java_pattern
from pyk.spark_connector.offsets import (
    EARLIEST,
    LATEST,
    OffsetMap,
    describe,
    parse_offsets,
    parse_partitions,
    parse_timestamps,
)
from pyk.spark_connector.option_names import KAFKA, SUBSCRIPTIONS, Role, check_names

T = TypeVar("T")

# Starting a task (25 to 45 ms) costs as much as reading this many records (1.5 µs each).
MIN_RECORDS_PER_TASK = 20_000
BOOTSTRAP_SERVERS = "bootstrap.servers"
# Options that the connector sets itself, with what to use instead.
MANAGED_BY_SOURCE = {
    "auto.offset.reset": "set startingOffsets to say where a new query starts; a running one "
    "always goes on where it stopped",
    "key.deserializer": "keys come as bytes; decode them with DataFrame operations",
    "value.deserializer": "values come as bytes; decode them with DataFrame operations",
    "enable.auto.commit": "Spark keeps the offsets in its checkpoint",
    "interceptor.classes": "interceptors could change the records",
}
MANAGED_BY_SINK = {
    "key.serializer": "keys are written as the bytes or the string of the column",
    "value.serializer": "values are written as the bytes or the string of the column",
}
TIME_UNITS_MS = {
    "us": 0.001,
    "ms": 1,
    "": 1,
    "s": 1000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
}


class NoMatch(Enum):
    """The choices for a starting timestamp that no record reaches."""

    ERROR = "error"
    LATEST = "latest"


@attrs.frozen
class OffsetLimit:
    """The start or the end of reading, in one of the four forms that options have for it."""

    everywhere: int | None = None
    """``LATEST`` or ``EARLIEST``, for every partition."""
    offsets: OffsetMap | None = None
    """Per partition; a value may be ``LATEST`` or ``EARLIEST``."""
    timestamp_ms: int | None = None
    """For every partition: its first record with this timestamp or a later one."""
    timestamps_ms: OffsetMap | None = None
    """The same, per partition."""
    on_no_match: NoMatch = NoMatch.LATEST

    def pinned_to(self, which: int) -> TopicPartition | str | None:
        """Return the first partition that has the limit ``which``, or ``'every partition'``."""
        if self.everywhere == which:
            return "every partition"
        pinned = [p for p, offset in (self.offsets or {}).items() if offset == which]
        return min(pinned, default=None)


@attrs.frozen(kw_only=True)
class Subscription:
    """The partitions to read; exactly one of the fields is set."""

    partitions: frozenset[TopicPartition] | None = None
    topics: frozenset[str] | None = None
    pattern: re.Pattern[str] | None = None

    @property
    def topic_names(self) -> frozenset[str]:
        """Return the topics that the options name; empty if a pattern chooses them."""
        if self.partitions is not None:
            return frozenset(partition.topic for partition in self.partitions)
        return self.topics or frozenset()


@attrs.frozen(kw_only=True)
class SourceOptions:
    """The validated options of a source."""

    subscription: Subscription
    starting: OffsetLimit
    ending: OffsetLimit
    fail_on_data_loss: bool = True
    include_headers: bool = False
    min_partitions: int | None = None
    max_records_per_partition: int | None = None
    min_records_per_partition: int = MIN_RECORDS_PER_TASK
    max_offsets_per_trigger: int | None = None
    min_offsets_per_trigger: int | None = None
    max_trigger_delay_ms: int = 900_000
    poll_timeout_ms: int = 120_000
    fetch_offset_attempts: int = 3
    fetch_offset_retry_interval_ms: int = 1000
    commit_to_group: str | None = None
    """The group for which a stream commits its offsets, for tools that show lag."""
    kafka: Mapping[str, str] = attrs.field(repr=False)
    notices: tuple[str, ...] = ()
    """A sentence about each option that has no effect."""


@attrs.frozen(kw_only=True)
class SinkOptions:
    """The validated options of a sink."""

    topic: str | None = None
    kafka: Mapping[str, str] = attrs.field(repr=False)
    notices: tuple[str, ...] = ()
    """A sentence about each option that has no effect."""


def source_options(raw: Mapping[str, str]) -> SourceOptions:
    """Return the options that batch and streaming reads share; raise OptionError if invalid."""
    options = _Options(raw)
    notices = options.check_names(Role.READ)
    kafka = options.kafka(MANAGED_BY_SOURCE)
    parsed = SourceOptions(
        subscription=_subscription(options),
        starting=_limit(options, "starting"),
        ending=_limit(options, "ending"),
        fail_on_data_loss=options.get("failOnDataLoss", _boolean, True),
        include_headers=options.get("includeHeaders", _boolean, False),
        min_partitions=options.get("minPartitions", _positive, None),
        max_records_per_partition=options.get("maxRecordsPerPartition", _positive, None),
        min_records_per_partition=options.get(
            "minRecordsPerPartition", _positive, MIN_RECORDS_PER_TASK
        ),
        max_offsets_per_trigger=options.get("maxOffsetsPerTrigger", _positive, None),
        min_offsets_per_trigger=options.get("minOffsetsPerTrigger", _positive, None),
        max_trigger_delay_ms=options.get("maxTriggerDelay", _duration_ms, 900_000),
        poll_timeout_ms=options.get("kafkaConsumer.pollTimeoutMs", _positive, 120_000),
        fetch_offset_attempts=options.get("fetchOffset.numRetries", _positive, 3),
        fetch_offset_retry_interval_ms=options.get("fetchOffset.retryIntervalMs", _natural, 1000),
        commit_to_group=_group(options, kafka),
        kafka=kafka,
        notices=(*notices, *_group_notices(options, kafka)),
    )
    least, most = parsed.min_offsets_per_trigger, parsed.max_offsets_per_trigger
    if least is not None and most is not None and least > most:
        raise OptionError(f"minOffsetsPerTrigger={least} is above maxOffsetsPerTrigger={most}")
    return parsed


def batch_source_options(raw: Mapping[str, str]) -> SourceOptions:
    """Return the options of a batch read: from the earliest to the latest offset by default."""
    parsed = source_options(raw)
    starting, ending = parsed.starting, parsed.ending
    if starting == OffsetLimit():
        starting = OffsetLimit(everywhere=EARLIEST)
    if ending == OffsetLimit():
        ending = OffsetLimit(everywhere=LATEST)
    if (pinned := starting.pinned_to(LATEST)) is not None:
        raise OptionError(f"a batch read cannot start at the latest offset (of {pinned})")
    if (pinned := ending.pinned_to(EARLIEST)) is not None:
        raise OptionError(f"a batch read cannot end at the earliest offset (of {pinned})")
    _check_order(starting.offsets, ending.offsets, "offset")
    _check_order(starting.timestamps_ms, ending.timestamps_ms, "timestamp")
    limits = _Options(raw).named("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")
    notices = tuple(f"option {name!r} has no effect on a batch" for name in limits)
    return attrs.evolve(parsed, starting=starting, ending=ending, notices=parsed.notices + notices)


def stream_source_options(raw: Mapping[str, str]) -> SourceOptions:
    """Return the options of a streaming read, which starts at the latest offset by default."""
    parsed = source_options(raw)
    if parsed.ending != OffsetLimit():
        raise OptionError("options for ending offsets are for batch reads; a stream has no end")
    if parsed.starting == OffsetLimit():
        return attrs.evolve(parsed, starting=OffsetLimit(everywhere=LATEST))
    return parsed


def sink_options(raw: Mapping[str, str]) -> SinkOptions:
    """Return the options of a batch or streaming write, or raise OptionError."""
    options = _Options(raw)
    notices = options.check_names(Role.WRITE)
    topic = options.get("topic", lambda text, _: text.strip(), None)
    kafka = options.kafka(MANAGED_BY_SINK)
    return SinkOptions(topic=topic or None, kafka=kafka, notices=notices)


class _Options:
    """The options as Spark passed them, by lower-case name."""

    def __init__(self, raw: Mapping[str, str]) -> None:
        self._values = {name.lower(): value for name, value in raw.items()}

    def get(self, name: str, parse: Callable[[str, str], T], default: T) -> T:
        text = self._values.get(name.lower())
        return default if text is None else parse(text.strip(), name)

    def kafka(self, managed: Mapping[str, str]) -> dict[str, str]:
        """Return the client configuration, in Kafka's dotted names without ``kafka.``."""
        kafka = {
            name.removeprefix(KAFKA): text
            for name, text in self._values.items()
            if name.startswith(KAFKA)
        }
        for name in kafka.keys() & managed.keys():
            raise OptionError(f"Kafka option {name!r} is not supported: {managed[name]}")
        if not kafka.get(BOOTSTRAP_SERVERS, "").strip():
            raise OptionError(f"option 'kafka.{BOOTSTRAP_SERVERS}' must be given")
        return kafka

    def named(self, *names: str) -> list[str]:
        """Return those of these options that are set."""
        return [name for name in names if name.lower() in self._values]

    def check_names(self, role: Role) -> tuple[str, ...]:
        return check_names(self._values, role)


def _subscription(options: _Options) -> Subscription:
    subscription = Subscription(
        partitions=options.get("assign", parse_partitions, None),
        topics=options.get("subscribe", _topics, None),
        pattern=options.get("subscribePattern", _pattern, None),
    )
    set_count = sum(field is not None for field in attrs.astuple(subscription, recurse=False))
    if set_count != 1:
        count = "only one" if set_count else "one"
        raise OptionError(f"{count} of {', '.join(SUBSCRIPTIONS)} must be given to the source")
    return subscription


def _group(options: _Options, kafka: Mapping[str, str]) -> str | None:
    if not options.get("commitOffsetsToGroup", _boolean, False):
        return None
    if not kafka.get("group.id"):
        raise OptionError("commitOffsetsToGroup needs 'kafka.group.id', the group to commit to")
    return kafka["group.id"]


def _group_notices(options: _Options, kafka: Mapping[str, str]) -> list[str]:
    """Return notices about the group options, which have no effect: Spark keeps the offsets."""
    unused = options.named("groupIdPrefix")
    if "group.id" in kafka and not options.get("commitOffsetsToGroup", _boolean, False):
        unused.append("kafka.group.id")
    return [f"option {name!r} has no effect: reading joins no consumer group" for name in unused]


def _limit(options: _Options, which: str) -> OffsetLimit:
    """Return the limit by Spark's order of preference: one timestamp, timestamps, offsets."""
    strategy = options.get("startingOffsetsByTimestampStrategy", _no_match, NoMatch.ERROR)
    on_no_match = strategy if which == "starting" else NoMatch.LATEST
    timestamp = options.get(f"{which}Timestamp", _natural, None)
    if timestamp is not None:
        return OffsetLimit(timestamp_ms=timestamp, on_no_match=on_no_match)
    timestamps = options.get(f"{which}OffsetsByTimestamp", parse_timestamps, None)
    if timestamps is not None:
        return OffsetLimit(timestamps_ms=timestamps, on_no_match=on_no_match)
    return options.get(f"{which}Offsets", _offsets, OffsetLimit())


def _check_order(start: OffsetMap | None, end: OffsetMap | None, what: str) -> None:
    if start is None or end is None:
        return
    if start.keys() != end.keys():
        odd = describe(start.keys() ^ end.keys())
        raise OptionError(f"start and end must name the same partitions; only one names {odd}")
    for partition, first in start.items():
        if 0 <= end[partition] < first:
            raise OptionError(
                f"{partition} starts at {what} {first}, above its end at {end[partition]}"
            )


def _offsets(text: str, option: str) -> OffsetLimit:
    if text.lower() in ("earliest", "latest"):
        return OffsetLimit(everywhere=EARLIEST if text.lower() == "earliest" else LATEST)
    return OffsetLimit(offsets=parse_offsets(text, option))


def _topics(text: str, option: str) -> frozenset[str]:
    topics = frozenset(topic.strip() for topic in text.split(",") if topic.strip())
    if not topics:
        raise OptionError(f"{option} names no topic: {text!r}")
    return topics


def _pattern(text: str, option: str) -> re.Pattern[str]:
    if not text:
        raise OptionError(f"{option} is empty")
    try:
        return compile_java_pattern(text)
    except ValueError as error:
        raise OptionError(f"{option}={text!r} is not a regular expression: {error}") from None


def _no_match(text: str, option: str) -> NoMatch:
    try:
        return NoMatch(text.lower())
    except ValueError:
        raise OptionError(f"{option} must be 'error' or 'latest', not {text!r}") from None


def _boolean(text: str, option: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise OptionError(f"{option} must be true or false, not {text!r}")
    return text.lower() == "true"


def _natural(text: str, option: str) -> int:
    if not re.fullmatch(r"\d{1,19}", text, re.ASCII):
        raise OptionError(f"{option} must be an integer, 0 or more, not {text!r}")
    return int(text)


def _positive(text: str, option: str) -> int:
    number = _natural(text, option)
    if number == 0:
        raise OptionError(f"{option} must be positive, not 0")
    return number


def _duration_ms(text: str, option: str) -> int:
    """Return a time in Spark's notation (``15m``, ``500ms``) in milliseconds."""
    match = re.fullmatch(r"(\d{1,15})\s*([a-z]*)", text.lower(), re.ASCII)
    if match is None or match[2] not in TIME_UNITS_MS:
        units = ", ".join(filter(None, TIME_UNITS_MS))
        raise OptionError(f"{option} must be a number with one of {units}, not {text!r}")
    return int(int(match[1]) * TIME_UNITS_MS[match[2]])
