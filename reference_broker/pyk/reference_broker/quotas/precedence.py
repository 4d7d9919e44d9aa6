"""The quota that counts for a client, out of all that could. Pure.

The most specific one does. Users come before client ids (KIP-55)::

    user and client id        user's default client id        user
    default user, client id   default user and client id      default user
                              client id                       default client id

All clients that a quota of a user is for share it, and so do all users of a client id; a quota for
user and client id counts for this pair alone, also where it is a default.
"""

from __future__ import annotations

from pyk.reference_broker.controller.client_quotas import (
    CLIENT_ID,
    IP,
    USER,
    ClientQuotasImage,
    QuotaEntity,
)
from pyk.runtime import slotted

Sharers = tuple[str, str]
"""The user and the client id that share a quota; empty where any does."""


@slotted.frozen
class Quota:
    """A limit, and whose use counts against it."""

    sharers: Sharers
    limit: float


def client_quota(image: ClientQuotasImage, name: str, user: str, client_id: str) -> Quota | None:
    """Return the quota of this name for a client, None if it has none."""
    pair = (user, client_id)
    for entity, sharers in (
        (((CLIENT_ID, client_id), (USER, user)), pair),
        (((CLIENT_ID, None), (USER, user)), pair),
        (((USER, user),), (user, "")),
        (((CLIENT_ID, client_id), (USER, None)), pair),
        (((CLIENT_ID, None), (USER, None)), pair),
        (((USER, None),), (user, "")),
        (((CLIENT_ID, client_id),), ("", client_id)),
        (((CLIENT_ID, None),), ("", client_id)),
    ):
        # As in Kafka, quotas of client ids are not for clients that have none.
        if not client_id and entity[0][0] == CLIENT_ID:
            continue
        limit = image.of(entity).get(name)
        if limit is not None:
            return Quota(sharers, limit)
    return None


def address_limit(image: ClientQuotasImage, name: str, address: str) -> float | None:
    """Return the limit of this name for an address, None if it has none."""
    default: QuotaEntity = ((IP, None),)
    return image.of_address(address).get(name, image.of(default).get(name))
