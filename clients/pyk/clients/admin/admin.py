"""The blocking admin client."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping

from pyk.clients.admin.acls import AclBinding, AclBindingFilter
from pyk.clients.admin.cluster import ClusterDescription
from pyk.clients.admin.cluster_face import ClusterAdmin
from pyk.clients.admin.configs import AlterConfig, ConfigEntry, ConfigResource
from pyk.clients.admin.core import CLOSE_SECONDS, AdminCore
from pyk.clients.admin.delegation_tokens import DelegationToken, KafkaPrincipal
from pyk.clients.admin.face import AdminFace
from pyk.clients.admin.group_face import GroupAdmin
from pyk.clients.admin.groups import ConsumerGroupDescription, PartitionLag
from pyk.clients.admin.helper_face import HelperAdmin
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
from pyk.clients.arguments import checked_timeout
from pyk.clients.engine.context import BlockingContext
from pyk.clients.engine.thread import LoopThread
from pyk.clients.offsets import ListedOffset, OffsetSpec
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.runtime.secret import Secret


class Admin(GroupAdmin, ClusterAdmin, HelperAdmin, AdminFace, BlockingContext):
    """Manages topics, settings, groups and offsets; :class:`AsyncAdmin` is its asyncio twin.

    Any number of threads may share one.
    """

    def _set_up(self, core: AdminCore) -> None:
        super()._set_up(core)
        self._thread = LoopThread("admin")

    def start(self, timeout: float | None = None) -> None:
        """Connect. Entering the context manager does it, otherwise the first call.

        Raises :class:`BootstrapError`, which names every address and how far it came, as soon as
        all have failed, at the latest after ``timeout`` seconds (``default_api_timeout_ms``).
        """
        self._thread.call(self._core.start(timeout))

    def close(self, timeout: float | None = CLOSE_SECONDS) -> None:
        """End all connections; always returns, within ``timeout`` seconds."""
        limit = checked_timeout(timeout)
        if self._thread.guard.is_forked or self._thread.is_closed:
            return
        if self._thread.loop is None:  # it never began
            self._thread.close()
            return
        try:
            self._thread.call(self._core.close(limit))
        finally:
            self._thread.close()

    def __del__(self) -> None:
        """End in the background."""
        thread = getattr(self, "_thread", None)
        if thread is None or thread.loop is None or thread.is_closed or thread.guard.is_forked:
            return
        warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)
        if not sys.is_finalizing():
            thread.end_after(self._core.close)

    # -- topics ------------------------------------------------------------------------------------

    def create_topics(
        self,
        new_topics: Iterable[NewTopic],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> dict[str, CreatedTopic]:
        """Create topics, or with ``validate_only`` only check them; return the outcomes by name."""
        return self._thread.call(
            self._core.topics.create_topics(
                new_topics, validate_only=validate_only, timeout=timeout
            )
        )

    def list_topics(
        self, *, internal: bool = False, timeout: float | None = None
    ) -> dict[str, TopicListing]:
        """Return all topics by name, Kafka's own only if ``internal``."""
        return self._thread.call(self._core.topics.list_topics(internal=internal, timeout=timeout))

    def describe_topics(
        self, names: Iterable[str], *, timeout: float | None = None
    ) -> dict[str, TopicDescription]:
        """Return topics with their partitions, by name."""
        return self._thread.call(self._core.topics.describe_topics(names, timeout=timeout))

    def delete_topics(self, names: Iterable[str], *, timeout: float | None = None) -> None:
        """Delete topics with all their records."""
        self._thread.call(self._core.topics.delete_topics(names, timeout=timeout))

    def create_partitions(
        self,
        counts: Mapping[str, int],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Raise topics to these numbers of partitions; keys may then go to other partitions."""
        self._thread.call(
            self._core.topics.create_partitions(
                counts, validate_only=validate_only, timeout=timeout
            )
        )

    def delete_records(
        self, before: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Delete the records before an offset of each partition; return the new log start offsets.

        -1 (``OffsetSpec.LATEST``) deletes all.
        """
        return self._thread.call(self._core.offsets.delete_records(before, timeout=timeout))

    # -- settings ----------------------------------------------------------------------------------

    def describe_configs(
        self,
        resources: Iterable[ConfigResource],
        *,
        documentation: bool = False,
        timeout: float | None = None,
    ) -> dict[ConfigResource, Mapping[str, ConfigEntry]]:
        """Return all settings of topics, brokers or groups, by resource and name."""
        return self._thread.call(
            self._core.configs.describe_configs(
                resources, documentation=documentation, timeout=timeout
            )
        )

    def incremental_alter_configs(
        self,
        changes: Mapping[ConfigResource, Iterable[AlterConfig]],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Change single settings, and leave the others as they are."""
        self._thread.call(
            self._core.configs.incremental_alter_configs(
                changes, validate_only=validate_only, timeout=timeout
            )
        )

    # -- groups ------------------------------------------------------------------------------------

    def describe_consumer_groups(
        self, group_ids: Iterable[str], *, timeout: float | None = None
    ) -> dict[str, ConsumerGroupDescription]:
        """Return groups of both types, ``classic`` and ``consumer``, with their members, by id."""
        return self._thread.call(
            self._core.groups.describe_consumer_groups(group_ids, timeout=timeout)
        )

    def delete_consumer_groups(
        self, group_ids: Iterable[str], *, timeout: float | None = None
    ) -> None:
        """Delete groups that have no members, with their committed offsets."""
        self._thread.call(self._core.groups.delete_consumer_groups(group_ids, timeout=timeout))

    def list_consumer_group_offsets(
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
        return self._thread.call(
            self._core.groups.list_consumer_group_offsets(
                group_id, partitions, require_stable=require_stable, timeout=timeout
            )
        )

    def alter_consumer_group_offsets(
        self,
        group_id: str,
        new_offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        *,
        timeout: float | None = None,
    ) -> None:
        """Commit offsets for a group that has no members, such as to let it read again."""
        self._thread.call(
            self._core.groups.alter_consumer_group_offsets(group_id, new_offsets, timeout=timeout)
        )

    def delete_consumer_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition],
        *,
        timeout: float | None = None,
    ) -> None:
        """Delete the committed offsets of partitions that no member of the group reads."""
        self._thread.call(
            self._core.groups.delete_consumer_group_offsets(group_id, partitions, timeout=timeout)
        )

    def consumer_group_lag(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        timeout: float | None = None,
    ) -> dict[TopicPartition, PartitionLag]:
        """Return the lag of a group, in these partitions or in all that it committed."""
        return self._thread.call(
            self._core.groups.consumer_group_lag(group_id, partitions, timeout=timeout)
        )

    # -- transactions ------------------------------------------------------------------------------

    def describe_transactions(
        self, transactional_ids: Iterable[str], *, timeout: float | None = None
    ) -> dict[str, TransactionDescription]:
        """Return the state of transactional ids and of their transactions, by id.

        Raises :class:`TransactionalIdNotFoundError` for an id that no coordinator knows.
        """
        return self._thread.call(
            self._core.transactions.describe_transactions(transactional_ids, timeout=timeout)
        )

    def list_transactions(
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
        return self._thread.call(
            self._core.transactions.list_transactions(
                states=states,
                producer_ids=producer_ids,
                duration_ms=duration_ms,
                transactional_id_pattern=transactional_id_pattern,
                timeout=timeout,
            )
        )

    def describe_producers(
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
        return self._thread.call(
            self._core.transactions.describe_producers(
                partitions, broker_id=broker_id, timeout=timeout
            )
        )

    def abort_transaction(
        self, spec: AbortTransactionSpec, *, timeout: float | None = None
    ) -> None:
        """Abort a hanging transaction in one partition.

        A transaction hangs if a partition has it open and its coordinator does not know it any
        more. To abort one that its producer still works on breaks that producer's transaction.
        Raises :class:`InvalidProducerEpochError` if the producer has another epoch, and
        :class:`TransactionCoordinatorFencedError` for a ``coordinator_epoch`` that is too old.
        """
        self._thread.call(self._core.transactions.abort_transaction(spec, timeout=timeout))

    def fence_producers(
        self, transactional_ids: Iterable[str], *, timeout: float | None = None
    ) -> dict[str, ProducerIdAndEpoch]:
        """Fence the producers of transactional ids, and abort their open transactions.

        Return the next producer id and epoch of each. A producer that still runs gets
        :class:`ProducerFencedError`.
        """
        return self._thread.call(
            self._core.transactions.fence_producers(transactional_ids, timeout=timeout)
        )

    # -- ACLs --------------------------------------------------------------------------------------

    def create_acls(self, bindings: Iterable[AclBinding], *, timeout: float | None = None) -> None:
        """Add ACLs; those that exist already stay.

        Raises :class:`SecurityDisabledError` if the brokers have no authorizer, and
        :class:`ClusterAuthorizationFailedError` without ``ALTER`` on the cluster.
        """
        self._thread.call(self._core.acls.create_acls(bindings, timeout=timeout))

    def describe_acls(
        self, acl_filter: AclBindingFilter | None = None, *, timeout: float | None = None
    ) -> list[AclBinding]:
        """Return the ACLs that a filter selects, by default all, sorted.

        Raises :class:`SecurityDisabledError` if the brokers have no authorizer, and
        :class:`ClusterAuthorizationFailedError` without ``DESCRIBE`` on the cluster.
        """
        return self._thread.call(self._core.acls.describe_acls(acl_filter, timeout=timeout))

    def delete_acls(
        self, filters: Iterable[AclBindingFilter | AclBinding], *, timeout: float | None = None
    ) -> dict[AclBindingFilter, list[AclBinding]]:
        """Delete the ACLs that filters select; return what each filter deleted.

        An :class:`AclBinding` selects only itself. The default filter selects all ACLs.
        """
        return self._thread.call(self._core.acls.delete_acls(filters, timeout=timeout))

    # -- users and tokens --------------------------------------------------------------------------

    def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> dict[str, UserScramCredentialsDescription]:
        """Return who can log in by SCRAM, by name: these users, or all (KIP-554).

        Raises :class:`ResourceNotFoundError` for a user without any credential.
        """
        return self._thread.call(
            self._core.users.describe_user_scram_credentials(users, timeout=timeout)
        )

    def alter_user_scram_credentials(
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
        self._thread.call(
            self._core.users.alter_user_scram_credentials(alterations, timeout=timeout)
        )

    def create_delegation_token(
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
        return self._thread.call(
            self._core.tokens.create_delegation_token(
                owner=owner, renewers=renewers, max_lifetime_ms=max_lifetime_ms, timeout=timeout
            )
        )

    def renew_delegation_token(
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
        return self._thread.call(
            self._core.tokens.renew_delegation_token(
                token, renew_period_ms=renew_period_ms, timeout=timeout
            )
        )

    def expire_delegation_token(
        self,
        token: DelegationToken | Secret | str | bytes,
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
        owners: Iterable[KafkaPrincipal | str] | None = None,
        *,
        timeout: float | None = None,
    ) -> list[DelegationToken]:
        """Return the tokens of these owners, or of all, that the caller may see, oldest first."""
        return self._thread.call(
            self._core.tokens.describe_delegation_token(owners, timeout=timeout)
        )

    # -- quotas ------------------------------------------------------------------------------------

    def describe_client_quotas(
        self, quota_filter: ClientQuotaFilter | None = None, *, timeout: float | None = None
    ) -> dict[ClientQuotaEntity, dict[str, float]]:
        """Return the limits of entities that match, by name; without a filter of all (KIP-546)."""
        return self._thread.call(
            self._core.quotas.describe_client_quotas(quota_filter, timeout=timeout)
        )

    def alter_client_quotas(
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
        self._thread.call(
            self._core.quotas.alter_client_quotas(
                alterations, validate_only=validate_only, timeout=timeout
            )
        )

    # -- offsets and cluster -----------------------------------------------------------------------

    def list_offsets(
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
        return self._thread.call(
            self._core.offsets.list_offsets(times, read_committed=read_committed, timeout=timeout)
        )

    def describe_cluster(self, *, timeout: float | None = None) -> ClusterDescription:
        """Return the cluster's id, controller and brokers, as one broker sees them now."""
        return self._thread.call(self._core.describe_cluster(timeout))
