"""The quotas of clients as the metadata log has them: limits by entity and name (KIP-546)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from pyk.protocol.messages.access_records import ClientQuotaRecord
from pyk.runtime import slotted

USER = "user"
CLIENT_ID = "client-id"
IP = "ip"

PRODUCER_BYTE_RATE = "producer_byte_rate"
CONSUMER_BYTE_RATE = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"
CONTROLLER_MUTATION_RATE = "controller_mutation_rate"
CONNECTION_CREATION_RATE = "connection_creation_rate"

QuotaEntity = tuple[tuple[str, str | None], ...]
"""The types of an entity with their names, in alphabetical order; None is the default name."""


class EntityPart(Protocol):
    """One type of an entity, in any message about quotas."""

    entity_type: str
    entity_name: str | None


def quota_entity(names: Mapping[str, str | None]) -> QuotaEntity:
    """Return the entity that has these names by type."""
    return tuple((each, names[each]) for each in sorted(names))


def entity_of(parts: Iterable[EntityPart]) -> QuotaEntity:
    """Return the entity that a message names; a type that is there twice has its last name."""
    return quota_entity({part.entity_type: part.entity_name for part in parts})


@slotted.define
class ClientQuotasImage:
    """All quotas of clients. Changes only by :meth:`replay`."""

    limits: dict[QuotaEntity, dict[str, float]] = slotted.field(factory=dict)
    """By entity, then by name, such as ``producer_byte_rate``; no entity is without a limit."""
    _of_addresses: dict[str, QuotaEntity] = slotted.field(factory=dict)
    """By the address as connections show it: that of an entity may have another form."""

    def of(self, entity: QuotaEntity) -> Mapping[str, float]:
        """Return the limits of an entity itself, without those that it inherits."""
        return self.limits.get(entity, {})

    def of_address(self, address: str) -> Mapping[str, float]:
        """Return the limits of an address, without the default."""
        return self.of(self._of_addresses.get(address, ()))

    def replay(self, record: ClientQuotaRecord) -> None:
        entity = entity_of(record.entity)
        self._note_address(entity)
        if not record.remove:
            self.limits.setdefault(entity, {})[record.key] = record.value
            return
        limits = self.limits.get(entity)
        if limits is not None:
            limits.pop(record.key, None)
            if not limits:
                del self.limits[entity]

    def _note_address(self, entity: QuotaEntity) -> None:
        for kind, name in entity:
            if kind == IP and name is not None:
                from ipaddress import ip_address

                self._of_addresses[str(ip_address(name))] = entity
