"""The users of the ACL matrix, and their ACLs. Pure.

Each user is there for one difference. ``allow-topic-read`` has nothing but that ACL;
``rest-topic-read`` has it for topics and everything for other kinds of resources, which shows
topics in requests that need more; ``deny-topic-read`` has everything but what that ACL denies.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from pyk.clients import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)

ROOT = "root"
"""The super user that prepares a broker."""

HERE, ELSEWHERE = "127.0.0.1", "198.51.100.7"
ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
ALL = AclOperation.ALL

TOKEN = "$token"
"""Stands for the id of the delegation token, which the broker chooses."""

NAMES = {
    ResourceType.TOPIC: ("orders", "missing", "fresh-$user", "auto-$user", "doomed-$user"),
    ResourceType.GROUP: ("readers", "joiners", "missing"),
    ResourceType.CLUSTER: ("kafka-cluster",),
    ResourceType.TRANSACTIONAL_ID: ("payer", "payer-open", "missing"),
    ResourceType.DELEGATION_TOKEN: (TOKEN,),
    ResourceType.USER: ("User:owner",),
}
"""The resources that literal ACLs are about; others of each kind are only reached by ``*``."""

PREFIXES = {
    ResourceType.TOPIC: ("ord", "miss", "fresh-", "auto-", "doomed-"),
    ResourceType.GROUP: ("read", "join", "miss"),
    ResourceType.TRANSACTIONAL_ID: ("pay", "miss"),
}

OPERATIONS = {
    ResourceType.TOPIC: "READ WRITE CREATE DESCRIBE DELETE ALTER DESCRIBE_CONFIGS ALTER_CONFIGS",
    ResourceType.GROUP: "READ DESCRIBE DELETE DESCRIBE_CONFIGS ALTER_CONFIGS",
    ResourceType.CLUSTER: "CREATE CLUSTER_ACTION DESCRIBE_CONFIGS ALTER_CONFIGS IDEMPOTENT_WRITE"
    " ALTER DESCRIBE",
    ResourceType.TRANSACTIONAL_ID: "DESCRIBE WRITE TWO_PHASE_COMMIT",
    ResourceType.DELEGATION_TOKEN: "DESCRIBE",
    ResourceType.USER: "CREATE_TOKENS DESCRIBE_TOKENS",
}
"""The operations of each kind of resource, as Kafka's documentation of ACLs lists them."""

PUBLIC_ACLS = [
    AclBinding(
        ResourcePattern(ResourceType.TOPIC, "public"),
        AccessControlEntry("User:*", AclOperation.READ, ALLOW),
    ),
    AclBinding(
        ResourcePattern(ResourceType.TOPIC, "private"),
        AccessControlEntry("User:*", AclOperation.READ, DENY),
    ),
]
"""ACLs of everybody, beside those of each user."""


@attrs.frozen
class Rule:
    """An ACL whose user and names are not filled in yet."""

    kind: ResourceType
    operation: AclOperation = ALL
    permission: AclPermissionType = ALLOW
    names: tuple[str, ...] = ()
    """By default those of :data:`NAMES`."""
    pattern_type: PatternType = PatternType.LITERAL
    host: str = "*"

    def bindings(self, user: str, token: str) -> Iterator[AclBinding]:
        entry = AccessControlEntry(f"User:{user}", self.operation, self.permission, host=self.host)
        for name in self.names or NAMES[self.kind]:
            filled = name.replace("$user", user).replace(TOKEN, token)
            yield AclBinding(ResourcePattern(self.kind, filled, self.pattern_type), entry)


def users() -> dict[str, list[Rule]]:
    """Return the rules of each user, by name."""
    found: dict[str, list[Rule]] = {"no-acls": [], "everything": everything()}
    for kind, words in OPERATIONS.items():
        for operation in ("ALL", *words.split()):
            named = f"{kind.name}-{operation}".lower().replace("_", "-")
            rule = Rule(kind, AclOperation[operation])
            rest = [one for one in everything() if one.kind is not kind]
            denial = attrs.evolve(rule, permission=DENY)
            found[f"allow-{named}"] = [rule]
            found[f"rest-{named}"] = [*rest, rule]
            found[f"deny-{named}"] = [*everything(), denial]
            if operation == "ALL":
                found[f"only-deny-{named}"] = [denial]
    return found | _users_of_patterns() | _users_of_hosts()


def everything(permission: AclPermissionType = ALLOW, host: str = "*") -> list[Rule]:
    """Return the rules that allow or deny everything."""
    return [
        Rule(
            kind,
            permission=permission,
            names=NAMES[kind] if kind is ResourceType.CLUSTER else ("*",),
            host=host,
        )
        for kind in OPERATIONS
    ]


def _users_of_patterns() -> dict[str, list[Rule]]:
    found: dict[str, list[Rule]] = {}
    for kind, prefixes in PREFIXES.items():
        named = kind.name.lower().replace("_", "-")
        prefixed = Rule(kind, names=prefixes, pattern_type=PatternType.PREFIXED)
        literal, wildcard = Rule(kind), Rule(kind, names=("*",))
        rest = [one for one in everything() if one.kind is not kind]
        of_each = {
            "prefixed": [prefixed],
            "wildcard": [wildcard],
            "other-prefix": [attrs.evolve(prefixed, names=("nothing-",))],
            "empty-suffix": [attrs.evolve(prefixed, names=NAMES[kind])],
            "literal-but-prefix": [literal, attrs.evolve(prefixed, permission=DENY)],
            "literal-but-wildcard": [literal, attrs.evolve(wildcard, permission=DENY)],
            "prefixed-but-literal": [prefixed, attrs.evolve(literal, permission=DENY)],
            "wildcard-but-prefix": [wildcard, attrs.evolve(prefixed, permission=DENY)],
        }
        found |= {f"{way}-{named}": [*rest, *rules] for way, rules in of_each.items()}
    return found


def _users_of_hosts() -> dict[str, list[Rule]]:
    return {
        "everything-here": everything(host=HERE),
        "everything-elsewhere": everything(host=ELSEWHERE),
        "everything-but-here": [*everything(), *everything(DENY, HERE)],
        "everything-but-elsewhere": [*everything(), *everything(DENY, ELSEWHERE)],
    }
