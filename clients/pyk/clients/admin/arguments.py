"""Validate the arguments of the admin client. Pure.

Every function returns its argument in the form that the calls need, or raises ``TypeError`` that
shows the valid form.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from pyk.clients.arguments import checked_seconds
from pyk.clients.topic_partition import (
    OffsetAndMetadata,
    TopicPartition,
    checked_offset,
    checked_partition,
)

if TYPE_CHECKING:
    from pyk.clients.admin.configs import AlterConfig, ConfigResource
    from pyk.clients.admin.topics import NewPartitions
    from pyk.clients.offsets import OffsetSpec

T = TypeVar("T")
E = TypeVar("E", bound=enum.Enum)


def checked_name(given: Any, what: str) -> str:
    """Return one name: of a topic, a group."""
    if isinstance(given, str):
        return given
    raise TypeError(f"{what} must be a str, not {given!r}")


def checked_names(given: Any, what: str) -> list[str]:
    """Return names; a single str is one name."""
    if isinstance(given, str):
        return [given]
    return [checked_name(name, what) for name in several(given, f"str, each {what}")]


def checked_topics(given: Any) -> list[Any]:
    """Return topics, all by name or all by id; accept a single one as well."""
    if isinstance(given, str | UUID):
        return [given]
    listed = list(several(given, "str, each a topic"))
    ids = [one for one in listed if isinstance(one, UUID)]
    if len(ids) == len(listed):
        return listed
    if ids:
        raise TypeError(f"give topics all by name or all by id, not {listed!r}")
    return [checked_name(one, "a topic") for one in listed]


def checked_partitions(given: Any) -> list[TopicPartition]:
    """Return partitions."""
    if isinstance(given, TopicPartition):
        return [given]
    return [checked_partition(one) for one in several(given, "TopicPartition(topic, partition)")]


def checked_group_partitions(given: Any) -> dict[str, list[TopicPartition] | None]:
    """Return the partitions of each group, None for all that it has committed."""
    keys = _keys(given, "{group id: [TopicPartition(topic, partition)] or None}")
    return {
        checked_name(one, "a group id"): None
        if given[one] is None
        else checked_partitions(given[one])
        for one in keys
    }


def checked_resources(given: Iterable[ConfigResource]) -> list[ConfigResource]:
    """Return resources, whose settings are described or changed; accept a single one as well."""
    from pyk.clients.admin.configs import ConfigResource

    if isinstance(given, ConfigResource):
        return [given]
    form = "ConfigResource.topic(name), .broker(node_id) or .group(group_id)"
    for one in (listed := list(several(given, form))):
        if not isinstance(one, ConfigResource):
            raise TypeError(f"a resource must be {form}, not {one!r}")
    return listed


def checked_changes(
    given: Mapping[ConfigResource, Iterable[AlterConfig]],
) -> dict[ConfigResource, list[AlterConfig]]:
    """Return the changes of settings by resource."""
    from pyk.clients.admin.configs import AlterConfig

    form = "{ConfigResource.topic(name): [AlterConfig(name, value)]}"
    changes = {one: list(several(given[one], form)) for one in _keys(given, form)}
    checked_resources(changes)
    for one in (change for some in changes.values() for change in some):
        if not isinstance(one, AlterConfig):
            raise TypeError(f"a change must be AlterConfig(name, value), not {one!r}")
    return changes


def checked_counts(given: Mapping[str, int | NewPartitions]) -> dict[str, NewPartitions]:
    """Return numbers of partitions by topic."""
    from pyk.clients.admin.topics import NewPartitions

    counts: dict[str, NewPartitions] = {}
    for name in _keys(given, "{topic: number of partitions}"):
        count = given[name]
        if not isinstance(count, NewPartitions):
            count = NewPartitions(checked_number(count, "a number of partitions"))
        counts[checked_name(name, "a topic")] = count
    return counts


def checked_ends(given: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Return the offsets before which records are deleted, by partition."""
    return _by_partition(given, "offset", lambda offset: checked_number(offset, "an offset"))


def checked_times(
    given: Mapping[TopicPartition, OffsetSpec | int],
) -> dict[TopicPartition, OffsetSpec | int]:
    """Return by partition which offset to look up."""
    from pyk.clients.offsets.specs import checked_time  # few calls need it

    return _by_partition(given, "OffsetSpec.LATEST or a time in milliseconds", checked_time)


def checked_share_offsets(given: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Return the start offsets of a share group, by partition."""
    return _by_partition(given, "offset", lambda offset: checked_number(offset, "an offset"))


def checked_offsets(
    given: Mapping[TopicPartition, OffsetAndMetadata | int],
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return the offsets to commit, by partition."""
    return _by_partition(given, "offset", lambda one: checked_offset(one, "an offset to commit"))


def checked_enum(given: Any, kind: type[E], what: str) -> E:
    """Return a member of an enum."""
    if isinstance(given, kind):
        return given
    members = ", ".join(f"{kind.__name__}.{one.name}" for one in kind)
    raise TypeError(f"{what} must be one of {members}, not {given!r}")


def checked_words(given: Any, words: Iterable[str], what: str) -> list[str]:
    """Return words that brokers know, in any case; raise ``ValueError`` for another one."""
    wanted, known = checked_names(given, what), list(words)
    for one in wanted:
        if one.lower() not in map(str.lower, known):
            raise ValueError(f"{what} must be one of {', '.join(known)}, not {one!r}")
    return wanted


def checked_replicas(
    given: Mapping[TopicPartition, Sequence[int] | None],
) -> dict[TopicPartition, list[int] | None]:
    """Return the brokers of each partition, None to cancel a move."""

    def checked(brokers: Any) -> list[int] | None:
        if brokers is None:
            return None
        return [checked_number(one, "a broker id") for one in several(brokers, "broker ids")]

    return _by_partition(given, "[broker id]", checked)


def checked_numbers(given: Any, what: str) -> list[int]:
    """Return numbers; accept a single one as well."""
    if isinstance(given, int) and not isinstance(given, bool):
        return [given]
    return [checked_number(one, what) for one in several(given, f"int, each {what}")]


def checked_positive(given: Any, what: str) -> int:
    """Return a number from 1 on; raise ``ValueError`` for a lower one."""
    if checked_number(given, what) < 1:
        raise ValueError(f"{what} must be 1 or more, not {given}")
    return int(given)


def checked_node_id(given: Any) -> int | None:
    """Return the id of a broker, None for none."""
    return None if given is None else checked_broker_id(given)


def checked_broker_id(given: Any) -> int:
    """Return the id of a broker."""
    return int(checked_number(given, "a broker id"))


def checked_milliseconds(given: Any, what: str) -> int | None:
    """Return a span of time, None for none; raise ``ValueError`` for a negative one."""
    if given is None:
        return None
    if checked_number(given, what) < 0:
        raise ValueError(f"{what} must be 0 or more milliseconds, not {given}")
    return int(given)


def checked_pause(given: Any) -> float:
    """Return the seconds between two questions."""
    return float(checked_seconds(given, "every", above_zero=True))


def _by_partition(given: Any, form: str, checked: Callable[[Any], T]) -> dict[TopicPartition, T]:
    keys = _keys(given, f"{{TopicPartition(topic, partition): {form}}}")
    return {checked_partition(one): checked(given[one]) for one in keys}


def _keys(given: Any, form: str) -> Iterable[Any]:
    if not isinstance(given, Mapping):
        raise TypeError(f"give {form}, not {given!r}")
    return given


def several(given: Any, form: str) -> Iterable[Any]:
    """Return several values of a form; raise ``TypeError`` for a single one."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise TypeError(f"give a sequence of {form}, not {given!r}")
    return given


def checked_number(given: Any, what: str) -> int:
    """Return a whole number."""
    if isinstance(given, bool) or not isinstance(given, int):
        raise TypeError(f"{what} must be an int, not {given!r}")
    return given
