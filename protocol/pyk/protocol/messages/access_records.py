"""Records of ``__cluster_metadata`` about credentials, access rules and quotas."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    Message,
    Struct,
    array,
    binary,
    boolean,
    float64,
    int8,
    int32,
    int64,
    metadata_record,
    string,
    struct,
    uuid,
)


@metadata_record(18, versions="0", flexible="0+")
class AccessControlEntryRecord(Message):
    """An access rule has been added."""

    id: UUID = uuid()
    """Names the rule when it is removed."""
    resource_type: int = int8()
    """2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user."""
    resource_name: str = string()
    pattern_type: int = int8()
    """3: exactly this name, ``*`` for any; 4: any name with this prefix."""
    principal: str = string()
    host: str = string()
    operation: int = int8()
    """2 all, 3 read, 4 write, 5 create, 6 delete, 7 alter, 8 describe, 9 cluster action, 10
    describe configs, 11 alter configs, 12 idempotent write, 13 create tokens, 14 describe tokens,
    15 two-phase commit."""
    permission_type: int = int8()
    """2 deny, 3 allow."""


@metadata_record(19, versions="0", flexible="0+")
class RemoveAccessControlEntryRecord(Message):
    """An access rule has been removed."""

    id: UUID = uuid()


@metadata_record(11, versions="0", flexible="0+")
class UserScramCredentialRecord(Message):
    """A user has this credential for SASL/SCRAM: enough to check a password, not to know it."""

    name: str = string()
    mechanism: int = int8()
    """1 SCRAM-SHA-256, 2 SCRAM-SHA-512."""
    salt: bytes = binary(secret=True)
    stored_key: bytes = binary(secret=True)
    server_key: bytes = binary(secret=True)
    iterations: int = int32()


@metadata_record(22, versions="0", flexible="0+")
class RemoveUserScramCredentialRecord(Message):
    """A user's credential has been removed."""

    name: str = string()
    mechanism: int = int8()
    """1 SCRAM-SHA-256, 2 SCRAM-SHA-512."""


@metadata_record(10, versions="0", flexible="0+")
class DelegationTokenRecord(Message):
    """A delegation token has been created or renewed (KIP-48).

    The token's secret is not here: brokers compute it from ``token_id`` and their own key.
    """

    owner: str = string()
    """As ``User:name``, like all principals here."""
    requester: str = string()
    """Who created it, which may be another than the owner."""
    renewers: list[str] = array(string)
    issue_timestamp: int = int64()
    max_timestamp: int = int64()
    """The latest time to which it can be renewed; milliseconds since the epoch, like all times."""
    expiration_timestamp: int = int64()
    token_id: str = string()


@metadata_record(26, versions="0", flexible="0+")
class RemoveDelegationTokenRecord(Message):
    """A delegation token has expired or was revoked."""

    token_id: str = string()


@struct
class EntityData(Struct):
    """One of the properties by which clients are chosen for a quota."""

    entity_type: str = string()
    """``user``, ``client-id`` or ``ip``."""
    entity_name: str | None = string(nullable="0+")
    """None: all that have no quota of their own."""


@metadata_record(14, versions="0", flexible="0+")
class ClientQuotaRecord(Message):
    """A quota of some clients has been set or removed."""

    entity: list[EntityData] = array(EntityData)
    key: str = string()
    """Such as ``producer_byte_rate``."""
    value: float = float64()
    remove: bool = boolean()
