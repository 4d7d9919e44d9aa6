"""The methods of the admin clients about ACLs, users, tokens and quotas."""

from __future__ import annotations

from collections.abc import Iterable

from pyk.clients import admin
from pyk.clients.admin.core import AdminCore
from pyk.clients.engine.thread import LoopThread
from pyk.runtime.secret import Secret


class AsyncAccessAdmin:
    """The part of :class:`AsyncAdmin` that is about ACLs, users, tokens and quotas."""

    _core: AdminCore

    async def create_acls(
        self, bindings: Iterable[admin.AclBinding], *, timeout: float | None = None
    ) -> None:
        """Add ACLs; those that exist already stay.

        Raises :class:`SecurityDisabledError` if the brokers have no authorizer, and
        :class:`ClusterAuthorizationFailedError` without ``ALTER`` on the cluster.
        """
        await self._core.acls.create_acls(bindings, timeout=timeout)

    async def describe_acls(
        self, acl_filter: admin.AclBindingFilter | None = None, *, timeout: float | None = None
    ) -> list[admin.AclBinding]:
        """Return the ACLs that a filter selects, by default all, sorted.

        Raises :class:`SecurityDisabledError` if the brokers have no authorizer, and
        :class:`ClusterAuthorizationFailedError` without ``DESCRIBE`` on the cluster.
        """
        return await self._core.acls.describe_acls(acl_filter, timeout=timeout)

    async def delete_acls(
        self,
        filters: Iterable[admin.AclBindingFilter | admin.AclBinding],
        *,
        timeout: float | None = None,
    ) -> dict[admin.AclBindingFilter, list[admin.AclBinding]]:
        """Delete the ACLs that filters select; return what each filter deleted.

        An :class:`AclBinding` selects only itself. The default filter selects all ACLs.
        """
        return await self._core.acls.delete_acls(filters, timeout=timeout)

    async def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> dict[str, admin.UserScramCredentialsDescription]:
        """Return who can log in by SCRAM, by name: these users, or all (KIP-554).

        Raises :class:`ResourceNotFoundError` for a user without any credential.
        """
        return await self._core.users.describe_user_scram_credentials(users, timeout=timeout)

    async def alter_user_scram_credentials(
        self,
        alterations: Iterable[admin.UserScramCredentialAlteration],
        *,
        timeout: float | None = None,
    ) -> None:
        """Give users passwords for SCRAM, and take them away.

        Passwords are not sent, only salted hashes. Raises :class:`UnacceptableCredentialError` for
        a number of iterations that brokers do not take, :class:`ResourceNotFoundError` for a
        deletion of what there is not; of several, :class:`SeveralErrors` by user and mechanism.
        """
        await self._core.users.alter_user_scram_credentials(alterations, timeout=timeout)

    async def create_delegation_token(
        self,
        *,
        owner: admin.KafkaPrincipal | str | None = None,
        renewers: Iterable[admin.KafkaPrincipal | str] = (),
        max_lifetime_ms: int | None = None,
        timeout: float | None = None,
    ) -> admin.DelegationToken:
        """Return a new token, which others can log in with as its owner (KIP-48).

        The owner is the caller, or another one such as ``"User:alice"`` (brokers since 3.3), which
        needs the permission to create tokens for it. Without ``max_lifetime_ms`` the token lives as
        long as brokers allow. Raises :class:`DelegationTokenAuthDisabledError` if brokers have no
        ``delegation.token.secret.key``, and :class:`DelegationTokenRequestNotAllowedError` over a
        connection without a login, or with one by a token.
        """
        return await self._core.tokens.create_delegation_token(
            owner=owner, renewers=renewers, max_lifetime_ms=max_lifetime_ms, timeout=timeout
        )

    async def renew_delegation_token(
        self,
        token: admin.DelegationToken | Secret | str | bytes,
        *,
        renew_period_ms: int | None = None,
        timeout: float | None = None,
    ) -> int:
        """Let a token, given itself or by its HMAC, live longer: from now on, for this long.

        Return when it expires now, in ms since 1970; brokers have a default and a limit. Raises
        :class:`DelegationTokenOwnerMismatchError` for others than its owner and renewers.
        """
        return await self._core.tokens.renew_delegation_token(
            token, renew_period_ms=renew_period_ms, timeout=timeout
        )

    async def expire_delegation_token(
        self,
        token: admin.DelegationToken | Secret | str | bytes,
        *,
        expiry_period_ms: int | None = None,
        timeout: float | None = None,
    ) -> int:
        """Let a token, given itself or by its HMAC, expire after this time, by default at once.

        Return when it expires, in ms since 1970. Raises as :meth:`renew_delegation_token` does.
        """
        return await self._core.tokens.expire_delegation_token(
            token, expiry_period_ms=expiry_period_ms, timeout=timeout
        )

    async def describe_delegation_token(
        self,
        owners: Iterable[admin.KafkaPrincipal | str] | None = None,
        *,
        timeout: float | None = None,
    ) -> list[admin.DelegationToken]:
        """Return the tokens of these owners, or of all, that the caller may see, oldest first."""
        return await self._core.tokens.describe_delegation_token(owners, timeout=timeout)

    async def describe_client_quotas(
        self, quota_filter: admin.ClientQuotaFilter | None = None, *, timeout: float | None = None
    ) -> dict[admin.ClientQuotaEntity, dict[str, float]]:
        """Return the limits of entities that match, by name; without a filter of all (KIP-546)."""
        return await self._core.quotas.describe_client_quotas(quota_filter, timeout=timeout)

    async def alter_client_quotas(
        self,
        alterations: Iterable[admin.ClientQuotaAlteration],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Set and lift limits, or with ``validate_only`` only check that brokers would.

        Raises :class:`InvalidRequestError` for a limit that the entity cannot have; of several,
        :class:`SeveralErrors` by entity.
        """
        await self._core.quotas.alter_client_quotas(
            alterations, validate_only=validate_only, timeout=timeout
        )


class AccessAdmin:
    """The part of :class:`Admin` that is about ACLs, users, tokens and quotas."""

    _core: AdminCore
    _thread: LoopThread

    def create_acls(
        self, bindings: Iterable[admin.AclBinding], *, timeout: float | None = None
    ) -> None:
        """Add ACLs; those that exist already stay.

        Raises :class:`SecurityDisabledError` if the brokers have no authorizer, and
        :class:`ClusterAuthorizationFailedError` without ``ALTER`` on the cluster.
        """
        self._thread.call(self._core.acls.create_acls(bindings, timeout=timeout))

    def describe_acls(
        self, acl_filter: admin.AclBindingFilter | None = None, *, timeout: float | None = None
    ) -> list[admin.AclBinding]:
        """Return the ACLs that a filter selects, by default all, sorted.

        Raises :class:`SecurityDisabledError` if the brokers have no authorizer, and
        :class:`ClusterAuthorizationFailedError` without ``DESCRIBE`` on the cluster.
        """
        return self._thread.call(self._core.acls.describe_acls(acl_filter, timeout=timeout))

    def delete_acls(
        self,
        filters: Iterable[admin.AclBindingFilter | admin.AclBinding],
        *,
        timeout: float | None = None,
    ) -> dict[admin.AclBindingFilter, list[admin.AclBinding]]:
        """Delete the ACLs that filters select; return what each filter deleted.

        An :class:`AclBinding` selects only itself. The default filter selects all ACLs.
        """
        return self._thread.call(self._core.acls.delete_acls(filters, timeout=timeout))

    def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> dict[str, admin.UserScramCredentialsDescription]:
        """Return who can log in by SCRAM, by name: these users, or all (KIP-554).

        Raises :class:`ResourceNotFoundError` for a user without any credential.
        """
        return self._thread.call(
            self._core.users.describe_user_scram_credentials(users, timeout=timeout)
        )

    def alter_user_scram_credentials(
        self,
        alterations: Iterable[admin.UserScramCredentialAlteration],
        *,
        timeout: float | None = None,
    ) -> None:
        """Give users passwords for SCRAM, and take them away.

        Passwords are not sent, only salted hashes. Raises :class:`UnacceptableCredentialError` for
        a number of iterations that brokers do not take, :class:`ResourceNotFoundError` for a
        deletion of what there is not; of several, :class:`SeveralErrors` by user and mechanism.
        """
        self._thread.call(
            self._core.users.alter_user_scram_credentials(alterations, timeout=timeout)
        )

    def create_delegation_token(
        self,
        *,
        owner: admin.KafkaPrincipal | str | None = None,
        renewers: Iterable[admin.KafkaPrincipal | str] = (),
        max_lifetime_ms: int | None = None,
        timeout: float | None = None,
    ) -> admin.DelegationToken:
        """Return a new token, which others can log in with as its owner (KIP-48).

        The owner is the caller, or another one such as ``"User:alice"`` (brokers since 3.3), which
        needs the permission to create tokens for it. Without ``max_lifetime_ms`` the token lives as
        long as brokers allow. Raises :class:`DelegationTokenAuthDisabledError` if brokers have no
        ``delegation.token.secret.key``, and :class:`DelegationTokenRequestNotAllowedError` over a
        connection without a login, or with one by a token.
        """
        return self._thread.call(
            self._core.tokens.create_delegation_token(
                owner=owner, renewers=renewers, max_lifetime_ms=max_lifetime_ms, timeout=timeout
            )
        )

    def renew_delegation_token(
        self,
        token: admin.DelegationToken | Secret | str | bytes,
        *,
        renew_period_ms: int | None = None,
        timeout: float | None = None,
    ) -> int:
        """Let a token, given itself or by its HMAC, live longer: from now on, for this long.

        Return when it expires now, in ms since 1970; brokers have a default and a limit. Raises
        :class:`DelegationTokenOwnerMismatchError` for others than its owner and renewers.
        """
        return self._thread.call(
            self._core.tokens.renew_delegation_token(
                token, renew_period_ms=renew_period_ms, timeout=timeout
            )
        )

    def expire_delegation_token(
        self,
        token: admin.DelegationToken | Secret | str | bytes,
        *,
        expiry_period_ms: int | None = None,
        timeout: float | None = None,
    ) -> int:
        """Let a token, given itself or by its HMAC, expire after this time, by default at once.

        Return when it expires, in ms since 1970. Raises as :meth:`renew_delegation_token` does.
        """
        return self._thread.call(
            self._core.tokens.expire_delegation_token(
                token, expiry_period_ms=expiry_period_ms, timeout=timeout
            )
        )

    def describe_delegation_token(
        self,
        owners: Iterable[admin.KafkaPrincipal | str] | None = None,
        *,
        timeout: float | None = None,
    ) -> list[admin.DelegationToken]:
        """Return the tokens of these owners, or of all, that the caller may see, oldest first."""
        return self._thread.call(
            self._core.tokens.describe_delegation_token(owners, timeout=timeout)
        )

    def describe_client_quotas(
        self, quota_filter: admin.ClientQuotaFilter | None = None, *, timeout: float | None = None
    ) -> dict[admin.ClientQuotaEntity, dict[str, float]]:
        """Return the limits of entities that match, by name; without a filter of all (KIP-546)."""
        return self._thread.call(
            self._core.quotas.describe_client_quotas(quota_filter, timeout=timeout)
        )

    def alter_client_quotas(
        self,
        alterations: Iterable[admin.ClientQuotaAlteration],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Set and lift limits, or with ``validate_only`` only check that brokers would.

        Raises :class:`InvalidRequestError` for a limit that the entity cannot have; of several,
        :class:`SeveralErrors` by entity.
        """
        self._thread.call(
            self._core.quotas.alter_client_quotas(
                alterations, validate_only=validate_only, timeout=timeout
            )
        )
