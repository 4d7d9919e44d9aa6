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
    """What an ACL is about."""

    UNKNOWN = 0
    """A type of a newer peer."""
    ANY = 1
    """In filters: all types."""
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """How the name in an ACL is compared with that of a resource."""

    UNKNOWN = 0
    """A type of a newer peer."""
    ANY = 1
    """In filters: patterns of all types with this name."""
    MATCH = 2
    """In filters: all patterns that select a resource of this name, literal, prefixed or ``*``."""
    LITERAL = 3
    """The resource of exactly this name; ``*`` is all resources."""
    PREFIXED = 4
    """The resources whose names begin like this."""


class AclOperation(IntEnum):
    """What an ACL allows or denies."""

    UNKNOWN = 0
    """An operation of a newer peer."""
    ANY = 1
    """In filters: all operations."""
    ALL = 2
    """Every operation on the resource."""
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    """Implied where READ, WRITE, DELETE or ALTER is allowed."""
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    """Implied where ALTER_CONFIGS is allowed."""
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class AclPermissionType(IntEnum):
    """Whether an ACL denies or allows; what one ACL denies no other can allow."""

    UNKNOWN = 0
    """A type of a newer peer."""
    ANY = 1
    """In filters: both."""
    DENY = 2
    ALLOW = 3
