"""Quotas of users, client ids and addresses (KIP-546). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

import attrs

from pyk.clients.admin.fields import check_field
from pyk.clients.errors import KafkaError, error_for
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    OpData,
    RequestEntryData,
)
from pyk.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from pyk.runtime import slotted

_TYPES = ("user", "client-id", "ip")
_MATCH_EXACT, _MATCH_DEFAULT, _MATCH_ANY = range(3)


def _checked_type(given: object) -> str:
    if given in _TYPES:
        return str(given)
    raise ValueError(f"the type of an entity must be 'user', 'client-id' or 'ip', not {given!r}")


def _checked_name(given: object, kind: str) -> str | None:
    if given is None or (isinstance(given, str) and given):
        return given
    raise ValueError(f"{kind} must be a str that is not empty, or None for the default: {given!r}")


def _checked_names(given: object) -> tuple[tuple[str, str | None], ...]:
    form = '{"user": "alice"} or {"user": "alice", "client-id": None}'
    if isinstance(given, tuple):
        given = dict(given)
    if not isinstance(given, Mapping):
        raise TypeError(f"an entity must be a mapping such as {form}, not {given!r}")
    if not given:
        raise ValueError(f"an entity must have a type and a name, as in {form}")
    return tuple(
        (_checked_type(kind), _checked_name(name, kind)) for kind, name in sorted(given.items())
    )


def _checked_limits(given: object) -> Mapping[str, float | None]:
    form = '{"producer_byte_rate": 1_000_000, "consumer_byte_rate": None}'
    if not isinstance(given, Mapping):
        raise TypeError(f"the changes of an entity must be a mapping such as {form}, not {given!r}")
    for name, limit in given.items():
        if not isinstance(name, str):
            raise TypeError(f"the name of a limit must be a str, not {name!r}")
        is_number = isinstance(limit, int | float) and not isinstance(limit, bool)
        if limit is not None and not is_number:
            raise TypeError(f"{name} must be a number, or None to lift it, not {limit!r}")
    return dict(given)


@attrs.frozen
class ClientQuotaEntity:
    """Whom a quota is for: a user, a client id, both together, or an IP address.

    Names by type; None is the default, for those that have no quota of their own::

        ClientQuotaEntity({"user": "alice"})
        ClientQuotaEntity({"user": "alice", "client-id": None})  # each client id of alice
        ClientQuotaEntity({"ip": "192.0.2.7"})
    """

    USER: ClassVar = "user"
    CLIENT_ID: ClassVar = "client-id"
    IP: ClassVar = "ip"

    _entries: tuple[tuple[str, str | None], ...] = attrs.field(
        converter=_checked_names, alias="entries"
    )

    @property
    def entries(self) -> dict[str, str | None]:
        """The names by type."""
        return dict(self._entries)

    def __str__(self) -> str:
        named = (
            f"default {kind}" if name is None else f"{kind} {name!r}"
            for kind, name in self._entries
        )
        return ", ".join(named)


@attrs.frozen
class ClientQuotaAlteration:
    """Changes of the limits of one entity: None lifts a limit, others stay as they are.

    Users and client ids have ``producer_byte_rate`` and ``consumer_byte_rate`` (bytes per second
    and broker), ``request_percentage`` (of the time of one thread) and ``controller_mutation_rate``
    (partitions created or deleted per second); addresses have ``connection_creation_rate`` (per
    second).
    """

    entity: ClientQuotaEntity
    ops: Mapping[str, float | None] = attrs.field(converter=_checked_limits)

    def __attrs_post_init__(self) -> None:
        check_field(self, "entity", ClientQuotaEntity)


@attrs.frozen
class ClientQuotaFilterComponent:
    """A condition on the name that an entity has for one type."""

    entity_type: str = attrs.field(converter=_checked_type)
    match: str | None = None
    is_any: bool = False

    @classmethod
    def of_entity(cls, entity_type: str, entity_name: str) -> ClientQuotaFilterComponent:
        """Match one name."""
        if not isinstance(entity_name, str):
            raise TypeError(f"the name of an entity must be a str, not {entity_name!r}")
        return cls(entity_type, entity_name)

    @classmethod
    def of_default_entity(cls, entity_type: str) -> ClientQuotaFilterComponent:
        """Match the default."""
        return cls(entity_type)

    @classmethod
    def of_entity_type(cls, entity_type: str) -> ClientQuotaFilterComponent:
        """Match every name, also the default."""
        return cls(entity_type, is_any=True)


@slotted.frozen
class ClientQuotaFilter:
    """Which entities to describe: those that meet all conditions."""

    components: tuple[ClientQuotaFilterComponent, ...] = ()
    strict: bool = False
    """Whether an entity must have no other types."""

    def __attrs_post_init__(self) -> None:
        components: tuple[object, ...] = self.components
        for one in components:
            if not isinstance(one, ClientQuotaFilterComponent):
                form = "ClientQuotaFilterComponent.of_entity(type, name)"
                raise TypeError(f"a component must be such as {form}, not {one!r}")

    @classmethod
    def contains(cls, components: Iterable[ClientQuotaFilterComponent]) -> ClientQuotaFilter:
        """Match entities that meet these conditions, whatever other types they have."""
        return cls(tuple(components))

    @classmethod
    def contains_only(cls, components: Iterable[ClientQuotaFilterComponent]) -> ClientQuotaFilter:
        """Match entities that meet these conditions and have no other types."""
        return cls(tuple(components), strict=True)

    @classmethod
    def all(cls) -> ClientQuotaFilter:
        """Match every entity."""
        return cls()


def describe_request(wanted: ClientQuotaFilter) -> DescribeClientQuotasRequest:
    return DescribeClientQuotasRequest(
        components=[
            ComponentData(entity_type=one.entity_type, match_type=_match_type(one), match=one.match)
            for one in wanted.components
        ],
        strict=wanted.strict,
    )


def _match_type(component: ClientQuotaFilterComponent) -> int:
    if component.is_any:
        return _MATCH_ANY
    return _MATCH_DEFAULT if component.match is None else _MATCH_EXACT


def described(
    response: DescribeClientQuotasResponse,
) -> dict[ClientQuotaEntity, dict[str, float]] | KafkaError:
    """Return the limits of each entity, or the error."""
    if response.error_code != ErrorCode.NONE:
        return error_for(response.error_code, response.error_message, api_key=response.api_key)
    return {
        ClientQuotaEntity({each.entity_type: each.entity_name for each in entry.entity}): {
            each.key: each.value for each in entry.values
        }
        for entry in response.entries or ()
    }


def alter_request(
    some: Iterable[ClientQuotaAlteration], *, validate_only: bool
) -> AlterClientQuotasRequest:
    return AlterClientQuotasRequest(
        entries=[
            RequestEntryData(
                entity=[
                    EntityData(entity_type=kind, entity_name=name)
                    for kind, name in one.entity.entries.items()
                ],
                ops=[
                    OpData(key=name, value=limit or 0.0, remove=limit is None)
                    for name, limit in one.ops.items()
                ],
            )
            for one in some
        ],
        validate_only=validate_only,
    )


def altered(
    response: AlterClientQuotasResponse,
) -> dict[ClientQuotaEntity, KafkaError | None]:
    """Return the outcome of each entity."""
    return {
        ClientQuotaEntity({each.entity_type: each.entity_name for each in entry.entity}): (
            error_for(entry.error_code, entry.error_message, api_key=response.api_key)
            if entry.error_code
            else None
        )
        for entry in response.entries
    }
