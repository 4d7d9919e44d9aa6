"""The numbers that messages and the metadata log use for ACLs (KIP-140, KIP-290)."""

from __future__ import annotations

from enum import IntEnum

CLUSTER_NAME = "kafka-cluster"
"""The only name of a resource of type CLUSTER."""
WILDCARD = "*"
"""As the name of a LITERAL ACL: every resource of the type; as a host: every host."""
WILDCARD_PRINCIPAL = "User:*"
"""The principal of an ACL for everybody."""


class ResourceType(IntEnum):
    """What an ACL is about. ANY is for filters only."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """How the name in an ACL is compared with that of a resource.

    ANY and MATCH are for filters only: MATCH finds all ACLs that concern a resource of the name.
    """

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclOperation(IntEnum):
    """What an ACL allows or denies. ANY is for filters only; ALL is every operation."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class AclPermissionType(IntEnum):
    """Whether an ACL denies or allows. ANY is for filters only."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3
