"""Validate the arguments of the admin client about access and transactions. Pure.

They are apart from :mod:`pyk.clients.admin.arguments`, which every call needs.
"""

from __future__ import annotations

from typing import Any

from pyk.clients.admin.acls import AclBinding, AclBindingFilter
from pyk.clients.admin.arguments import checked_names, several
from pyk.clients.admin.delegation_tokens import KafkaPrincipal
from pyk.clients.admin.quotas import ClientQuotaAlteration, ClientQuotaEntity, ClientQuotaFilter
from pyk.clients.admin.scram_users import (
    UserAndMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from pyk.clients.admin.transactions import (
    STATE_NAMES,
    AbortTransactionSpec,
    TransactionState,
)


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
    listed = [given] if isinstance(given, AclBinding) else list(several(given, form))
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
    return [checked_acl_filter(one) for one in several(given, "AclBindingFilter")]


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
    kinds = UserScramCredentialUpsertion | UserScramCredentialDeletion
    for one in [given] if isinstance(given, kinds) else several(given, form):
        if not isinstance(one, kinds):
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
    for one in several(given, form):
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
    return [KafkaPrincipal.of(one) for one in several(given, "principals such as 'User:alice'")]
