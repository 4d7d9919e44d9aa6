"""The admin client for asyncio."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyk.clients.admin.acls import AclBinding, AclBindingFilter
from pyk.clients.admin.cluster import ClusterDescription
from pyk.clients.admin.cluster_face import AsyncClusterAdmin
from pyk.clients.admin.configs import AlterConfig, ConfigEntry, ConfigResource
from pyk.clients.admin.core import CLOSE_SECONDS
from pyk.clients.admin.delegation_tokens import DelegationToken, KafkaPrincipal
from pyk.clients.admin.face import AdminFace
from pyk.clients.admin.group_face import AsyncGroupAdmin
from pyk.clients.admin.groups import ConsumerGroupDescription, PartitionLag
from pyk.clients.admin.helper_face import AsyncHelperAdmin
from pyk.clients.admin.quotas import ClientQuotaAlteration, ClientQuotaEntity, ClientQuotaFilter
from pyk.clients.admin.scram_users import (
    UserScramCredentialAlteration,
    UserScramCredentialsDescription,
)
from pyk.clients.admin.topics import CreatedTopic, NewTopic, TopicDescription, TopicListing
from pyk.clients.admin.transactions import (
    AbortTransactionSpec,
    ProducerIdAndEpoch,
    ProducerState,
    TransactionDescription,
    TransactionListing,
    TransactionState,
)
from pyk.clients.engine.context import AsyncContext
from pyk.clients.offsets import ListedOffset, OffsetSpec
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.runtime.secret import Secret


class AsyncAdmin(AsyncGroupAdmin, AsyncClusterAdmin, AsyncHelperAdmin, AdminFace, AsyncContext):
    """Manages topics, settings, groups and offsets.

    Every call takes ``timeout`` in seconds, None for ``default_api_timeout_ms``, and retries within
    it after retriable errors. A call about one thing raises its error, a call about several raises
    :class:`~pyk.clients.errors.SeveralErrors`, which holds each error and what succeeded. Connects
    when entered, or with the first call.
    """

    async def start(self, timeout: float | None = None) -> None:
        """Connect. Entering the context manager does it, otherwise the first call.

        Raises :class:`BootstrapError`, which names every address and how far it came, as soon as
        all have failed, at the latest after ``timeout`` seconds (``default_api_timeout_ms``).
        """
        await self._core.start(timeout)

    async def close(self, timeout: float | None = CLOSE_SECONDS) -> None:
        """End all connections; always returns, within ``timeout`` seconds."""
        await self._core.close(timeout)

    # -- topics ------------------------------------------------------------------------------------

    async def create_topics(
        self,
        new_topics: Iterable[NewTopic],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> dict[str, CreatedTopic]:
        """Create topics, or with ``validate_only`` only check them; return the outcomes by name."""
        return await self._core.topics.create_topics(
            new_topics, validate_only=validate_only, timeout=timeout
        )

    async def list_topics(
        self, *, internal: bool = False, timeout: float | None = None
    ) -> dict[str, TopicListing]:
        """Return all topics by name, Kafka's own only if ``internal``."""
        return await self._core.topics.list_topics(internal=internal, timeout=timeout)

    async def describe_topics(
        self, names: Iterable[str], *, timeout: float | None = None
    ) -> dict[str, TopicDescription]:
        """Return topics with their partitions, by name."""
        return await self._core.topics.describe_topics(names, timeout=timeout)

    async def delete_topics(self, names: Iterable[str], *, timeout: float | None = None) -> None:
        """Delete topics with all their records."""
        await self._core.topics.delete_topics(names, timeout=timeout)

    async def create_partitions(
        self,
        counts: Mapping[str, int],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Raise topics to these numbers of partitions; keys may then go to other partitions."""
        await self._core.topics.create_partitions(
            counts, validate_only=validate_only, timeout=timeout
        )

    async def delete_records(
        self, before: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Delete the records before an offset of each partition; return the new log start offsets.

        -1 (``OffsetSpec.LATEST``) deletes all.
        """
        return await self._core.offsets.delete_records(before, timeout=timeout)

    # -- settings ----------------------------------------------------------------------------------

    async def describe_configs(
        self,
        resources: Iterable[ConfigResource],
        *,
        documentation: bool = False,
        timeout: float | None = None,
    ) -> dict[ConfigResource, Mapping[str, ConfigEntry]]:
        """Return all settings of topics, brokers or groups, by resource and name."""
        return await self._core.configs.describe_configs(
            resources, documentation=documentation, timeout=timeout
        )

    async def incremental_alter_configs(
        self,
        changes: Mapping[ConfigResource, Iterable[AlterConfig]],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Change single settings, and leave the others as they are."""
        await self._core.configs.incremental_alter_configs(
            changes, validate_only=validate_only, timeout=timeout
        )

    # -- groups ------------------------------------------------------------------------------------

    async def describe_consumer_groups(
        self, group_ids: Iterable[str], *, timeout: float | None = None
    ) -> dict[str, ConsumerGroupDescription]:
        """Return groups of both types, ``classic`` and ``consumer``, with their members, by id."""
        return await self._core.groups.describe_consumer_groups(group_ids, timeout=timeout)

    async def delete_consumer_groups(
        self, group_ids: Iterable[str], *, timeout: float | None = None
    ) -> None:
        """Delete groups that have no members, with their committed offsets."""
        await self._core.groups.delete_consumer_groups(group_ids, timeout=timeout)

    async def list_consumer_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        require_stable: bool = False,
        timeout: float | None = None,
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return the committed offsets of a group, for these partitions or for all it committed.

        The offset is None where the group has committed nothing. ``require_stable`` waits for
        transactions that are about to commit for the group.
        """
        return await self._core.groups.list_consumer_group_offsets(
            group_id, partitions, require_stable=require_stable, timeout=timeout
        )

    async def alter_consumer_group_offsets(
        self,
        group_id: str,
        new_offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        *,
        timeout: float | None = None,
    ) -> None:
        """Commit offsets for a group that has no members, such as to let it read again."""
        await self._core.groups.alter_consumer_group_offsets(group_id, new_offsets, timeout=timeout)

    async def delete_consumer_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition],
        *,
        timeout: float | None = None,
    ) -> None:
        """Delete the committed offsets of partitions that no member of the group reads."""
        await self._core.groups.delete_consumer_group_offsets(group_id, partitions, timeout=timeout)

    async def consumer_group_lag(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        timeout: float | None = None,
    ) -> dict[TopicPartition, PartitionLag]:
        """Return the lag of a group, in these partitions or in all that it committed."""
        return await self._core.groups.consumer_group_lag(group_id, partitions, timeout=timeout)

    # -- transactions ------------------------------------------------------------------------------

    async def describe_transactions(
        self, transactional_ids: Iterable[str], *, timeout: float | None = None
    ) -> dict[str, TransactionDescription]:
        """Return the state of transactional ids and of their transactions, by id.

        Raises :class:`TransactionalIdNotFoundError` for an id that no coordinator knows.
        """
        return await self._core.transactions.describe_transactions(
            transactional_ids, timeout=timeout
        )

    async def list_transactions(
        self,
        *,
        states: Iterable[TransactionState | str] = (),
        producer_ids: Iterable[int] = (),
        duration_ms: int | None = None,
        transactional_id_pattern: str | None = None,
        timeout: float | None = None,
    ) -> list[TransactionListing]:
        """Return the transactional ids of all coordinators, sorted.

        All filters that are given must match: ``states``, ``producer_ids``, transactions that have
        been open for longer than ``duration_ms`` (brokers since 3.8), ids that match the regular
        expression ``transactional_id_pattern`` as a whole (brokers since 4.1).
        """
        return await self._core.transactions.list_transactions(
            states=states,
            producer_ids=producer_ids,
            duration_ms=duration_ms,
            transactional_id_pattern=transactional_id_pattern,
            timeout=timeout,
        )

    async def describe_producers(
        self,
        partitions: Iterable[TopicPartition],
        *,
        broker_id: int | None = None,
        timeout: float | None = None,
    ) -> dict[TopicPartition, tuple[ProducerState, ...]]:
        """Return the idempotent and transactional producers that partitions know.

        The leaders are asked, or the replica on ``broker_id``. A producer stays known for a while
        after it has ended (``producer.id.expiration.ms``).
        """
        return await self._core.transactions.describe_producers(
            partitions, broker_id=broker_id, timeout=timeout
        )

    async def abort_transaction(
        self, spec: AbortTransactionSpec, *, timeout: float | None = None
    ) -> None:
        """Abort a hanging transaction in one partition.

        A transaction hangs if a partition has it open and its coordinator does not know it any
        more. To abort one that its producer still works on breaks that producer's transaction.
        Raises :class:`InvalidProducerEpochError` if the producer has another epoch, and
        :class:`TransactionCoordinatorFencedError` for a ``coordinator_epoch`` that is too old.
        """
        await self._core.transactions.abort_transaction(spec, timeout=timeout)

    async def fence_producers(
        self, transactional_ids: Iterable[str], *, timeout: float | None = None
    ) -> dict[str, ProducerIdAndEpoch]:
        """Fence the producers of transactional ids, and abort their open transactions.

        Return the next producer id and epoch of each. A producer that still runs gets
        :class:`ProducerFencedError`.
        """
        return await self._core.transactions.fence_producers(transactional_ids, timeout=timeout)

    # -- ACLs --------------------------------------------------------------------------------------

    async def create_acls(
        self, bindings: Iterable[AclBinding], *, timeout: float | None = None
    ) -> None:
        """Add ACLs; those that exist already stay.

        Raises :class:`SecurityDisabledError` if the brokers have no authorizer, and
        :class:`ClusterAuthorizationFailedError` without ``ALTER`` on the cluster.
        """
        await self._core.acls.create_acls(bindings, timeout=timeout)

    async def describe_acls(
        self, acl_filter: AclBindingFilter | None = None, *, timeout: float | None = None
    ) -> list[AclBinding]:
        """Return the ACLs that a filter selects, by default all, sorted.

        Raises :class:`SecurityDisabledError` if the brokers have no authorizer, and
        :class:`ClusterAuthorizationFailedError` without ``DESCRIBE`` on the cluster.
        """
        return await self._core.acls.describe_acls(acl_filter, timeout=timeout)

    async def delete_acls(
        self, filters: Iterable[AclBindingFilter | AclBinding], *, timeout: float | None = None
    ) -> dict[AclBindingFilter, list[AclBinding]]:
        """Delete the ACLs that filters select; return what each filter deleted.

        An :class:`AclBinding` selects only itself. The default filter selects all ACLs.
        """
        return await self._core.acls.delete_acls(filters, timeout=timeout)

    # -- users and tokens --------------------------------------------------------------------------

    async def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> dict[str, UserScramCredentialsDescription]:
        """Return who can log in by SCRAM, by name: these users, or all (KIP-554).

        Raises :class:`ResourceNotFoundError` for a user without any credential.
        """
        return await self._core.users.describe_user_scram_credentials(users, timeout=timeout)

    async def alter_user_scram_credentials(
        self,
        alterations: Iterable[UserScramCredentialAlteration],
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
        owner: KafkaPrincipal | str | None = None,
        renewers: Iterable[KafkaPrincipal | str] = (),
        max_lifetime_ms: int | None = None,
        timeout: float | None = None,
    ) -> DelegationToken:
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
        token: DelegationToken | Secret | str | bytes,
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
        token: DelegationToken | Secret | str | bytes,
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
        owners: Iterable[KafkaPrincipal | str] | None = None,
        *,
        timeout: float | None = None,
    ) -> list[DelegationToken]:
        """Return the tokens of these owners, or of all, that the caller may see, oldest first."""
        return await self._core.tokens.describe_delegation_token(owners, timeout=timeout)

    # -- quotas ------------------------------------------------------------------------------------

    async def describe_client_quotas(
        self, quota_filter: ClientQuotaFilter | None = None, *, timeout: float | None = None
    ) -> dict[ClientQuotaEntity, dict[str, float]]:
        """Return the limits of entities that match, by name; without a filter of all (KIP-546)."""
        return await self._core.quotas.describe_client_quotas(quota_filter, timeout=timeout)

    async def alter_client_quotas(
        self,
        alterations: Iterable[ClientQuotaAlteration],
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

    # -- offsets and cluster -----------------------------------------------------------------------

    async def list_offsets(
        self,
        times: Mapping[TopicPartition, OffsetSpec | int],
        *,
        read_committed: bool = False,
        timeout: float | None = None,
    ) -> dict[TopicPartition, ListedOffset | None]:
        """Return offsets by ``OffsetSpec``, or of the first record at or after a time.

        Times are milliseconds since 1970. The offset is None if no record is that new.
        With ``read_committed`` the end is before the first open transaction.
        """
        return await self._core.offsets.list_offsets(
            times, read_committed=read_committed, timeout=timeout
        )

    async def describe_cluster(self, *, timeout: float | None = None) -> ClusterDescription:
        """Return the cluster's id, controller and brokers, as one broker sees them now."""
        return await self._core.describe_cluster(timeout)
