"""Validate the arguments of the admin client. Pure.

Every function returns its argument in the form that the calls need, or raises ``TypeError`` that
shows the valid form.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID

from pyk.clients.admin.acls import AclBinding, AclBindingFilter
from pyk.clients.admin.configs import AlterConfig, ConfigResource
from pyk.clients.admin.delegation_tokens import KafkaPrincipal
from pyk.clients.admin.quotas import ClientQuotaAlteration, ClientQuotaEntity, ClientQuotaFilter
from pyk.clients.admin.scram_users import (
    UserAndMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from pyk.clients.admin.topics import NewPartitions
from pyk.clients.admin.transactions import (
    STATE_NAMES,
    AbortTransactionSpec,
    TransactionState,
)
from pyk.clients.offsets import OffsetSpec
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition, checked_partition

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
    return [checked_name(name, what) for name in _several(given, f"str, each {what}")]


def checked_topics(given: Any) -> list[Any]:
    """Return topics, all by name or all by id; accept a single one as well."""
    if isinstance(given, str | UUID):
        return [given]
    listed = list(_several(given, "str, each a topic"))
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
    return [checked_partition(one) for one in _several(given, "TopicPartition(topic, partition)")]


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
    if isinstance(given, ConfigResource):
        return [given]
    form = "ConfigResource.topic(name), .broker(node_id) or .group(group_id)"
    for one in (listed := list(_several(given, form))):
        if not isinstance(one, ConfigResource):
            raise TypeError(f"a resource must be {form}, not {one!r}")
    return listed


def checked_changes(
    given: Mapping[ConfigResource, Iterable[AlterConfig]],
) -> dict[ConfigResource, list[AlterConfig]]:
    """Return the changes of settings by resource."""
    form = "{ConfigResource.topic(name): [AlterConfig(name, value)]}"
    changes = {one: list(_several(given[one], form)) for one in _keys(given, form)}
    checked_resources(changes)
    for one in (change for some in changes.values() for change in some):
        if not isinstance(one, AlterConfig):
            raise TypeError(f"a change must be AlterConfig(name, value), not {one!r}")
    return changes


def checked_counts(given: Mapping[str, int | NewPartitions]) -> dict[str, NewPartitions]:
    """Return numbers of partitions by topic."""
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
    form = "OffsetSpec.LATEST or a time in milliseconds"
    return _by_partition(given, form, lambda place: checked_number(place, form))


def checked_share_offsets(given: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Return the start offsets of a share group, by partition."""
    return _by_partition(given, "offset", lambda offset: checked_number(offset, "an offset"))


def checked_offsets(
    given: Mapping[TopicPartition, OffsetAndMetadata | int],
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return the offsets to commit, by partition."""

    def checked(offset: Any) -> OffsetAndMetadata:
        wanted = (
            offset
            if isinstance(offset, OffsetAndMetadata)
            else OffsetAndMetadata(checked_number(offset, "an offset"))
        )
        if wanted.offset < 0:
            raise ValueError(f"an offset to commit must be 0 or more, not {wanted.offset}")
        return wanted

    return _by_partition(given, "offset", checked)


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
        return [checked_number(one, "a broker id") for one in _several(brokers, "broker ids")]

    return _by_partition(given, "[broker id]", checked)


def checked_numbers(given: Any, what: str) -> list[int]:
    """Return numbers; accept a single one as well."""
    if isinstance(given, int) and not isinstance(given, bool):
        return [given]
    return [checked_number(one, what) for one in _several(given, f"int, each {what}")]


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


def checked_transaction_states(given: Any) -> list[str]:
    """Return the names of states, which are :class:`TransactionState` or str; raise ``ValueError``
    for a state that does not exist."""
    names = checked_names(given, "a transaction state")
    for name in names:
        if name not in STATE_NAMES:
            valid = ", ".join(TransactionState)
            raise ValueError(f"there is no transaction state {name!r}; there are {valid}")
    return [str(name) for name in names]


def checked_abort_spec(given: Any) -> None:
    """Raise ``TypeError`` for anything but an :class:`AbortTransactionSpec`."""
    if not isinstance(given, AbortTransactionSpec):
        raise TypeError(
            "write AbortTransactionSpec(topic_partition, producer_id, producer_epoch, "
            f"coordinator_epoch), not {given!r}"
        )


def checked_acls(given: Any) -> list[AclBinding]:
    """Return ACLs; accept a single one as well.

    Raises ``ValueError`` for what brokers refuse or misread.
    """
    form = "AclBinding(ResourcePattern(type, name), AccessControlEntry(principal, operation))"
    listed = [given] if isinstance(given, AclBinding) else list(_several(given, form))
    for one in listed:
        if not isinstance(one, AclBinding):
            raise TypeError(f"an ACL must be {form}, not {one!r}")
        if ":" not in one.entry.principal:
            raise ValueError(f"a principal must be like 'User:alice', not {one.entry.principal!r}")
    return listed


def checked_acl_filters(given: Any) -> list[AclBindingFilter]:
    """Return filters of ACLs; accept a single one as well."""
    if isinstance(given, AclBindingFilter | AclBinding):
        return [checked_acl_filter(given)]
    return [checked_acl_filter(one) for one in _several(given, "AclBindingFilter")]


def checked_acl_filter(given: Any) -> AclBindingFilter:
    """Return a filter of ACLs; an ACL is the filter that selects only itself."""
    if isinstance(given, AclBinding):
        return AclBindingFilter.of(given)
    if isinstance(given, AclBindingFilter):
        return given
    raise TypeError(f"a filter must be an AclBindingFilter or AclBinding, not {given!r}")


def checked_user_alterations(given: Any) -> dict[UserAndMechanism, UserScramCredentialAlteration]:
    """Return alterations by user and mechanism; raise ``ValueError`` for two of the same."""
    form = "UserScramCredentialUpsertion(…) or UserScramCredentialDeletion(…)"
    found: dict[UserAndMechanism, UserScramCredentialAlteration] = {}
    for one in _several(given, form):
        if not isinstance(one, UserScramCredentialUpsertion | UserScramCredentialDeletion):
            raise TypeError(f"an alteration must be {form}, not {one!r}")
        if (one.user, one.mechanism) in found:
            raise ValueError(f"{one.mechanism.value} of user {one.user!r} is altered twice")
        found[one.user, one.mechanism] = one
    return found


def checked_quota_filter(given: Any) -> ClientQuotaFilter:
    """Return a filter of quotas."""
    if isinstance(given, ClientQuotaFilter):
        return given
    raise TypeError(f"a filter must be ClientQuotaFilter.contains([…]) or .all(), not {given!r}")


def checked_quota_alterations(given: Any) -> dict[ClientQuotaEntity, ClientQuotaAlteration]:
    """Return alterations by entity; raise ``ValueError`` for two of the same."""
    if isinstance(given, ClientQuotaAlteration):
        return {given.entity: given}
    form = "ClientQuotaAlteration(entity, {name: limit})"
    found: dict[ClientQuotaEntity, ClientQuotaAlteration] = {}
    for one in _several(given, form):
        if not isinstance(one, ClientQuotaAlteration):
            raise TypeError(f"an alteration must be {form}, not {one!r}")
        if one.entity in found:
            raise ValueError(f"{one.entity} is altered twice")
        found[one.entity] = one
    return found


def checked_principals(given: Any) -> list[KafkaPrincipal]:
    """Return principals; accept a single one as well."""
    if isinstance(given, str | KafkaPrincipal):
        return [KafkaPrincipal.of(given)]
    return [KafkaPrincipal.of(one) for one in _several(given, "principals such as 'User:alice'")]


def checked_milliseconds(given: Any, what: str) -> int | None:
    """Return a span of time, None for none; raise ``ValueError`` for a negative one."""
    if given is None:
        return None
    if checked_number(given, what) < 0:
        raise ValueError(f"{what} must be 0 or more milliseconds, not {given}")
    return int(given)


def _by_partition(given: Any, form: str, checked: Callable[[Any], T]) -> dict[TopicPartition, T]:
    keys = _keys(given, f"{{TopicPartition(topic, partition): {form}}}")
    return {checked_partition(one): checked(given[one]) for one in keys}


def _keys(given: Any, form: str) -> Iterable[Any]:
    if not isinstance(given, Mapping):
        raise TypeError(f"give {form}, not {given!r}")
    return given


def _several(given: Any, form: str) -> Iterable[Any]:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise TypeError(f"give a sequence of {form}, not {given!r}")
    return given


def checked_number(given: Any, what: str) -> int:
    """Return a whole number."""
    if isinstance(given, bool) or not isinstance(given, int):
        raise TypeError(f"{what} must be an int, not {given!r}")
    return given
