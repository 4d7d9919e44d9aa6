"""The methods of the admin clients about transactions and producers."""

from __future__ import annotations

from collections.abc import Iterable

from pyk.clients import admin
from pyk.clients.admin.core import AdminCore
from pyk.clients.engine.thread import LoopThread
from pyk.clients.topic_partition import TopicPartition


class AsyncTransactionAdmin:
    """The part of :class:`AsyncAdmin` that is about transactions and producers."""

    _core: AdminCore

    async def describe_transactions(
        self, transactional_ids: Iterable[str], *, timeout: float | None = None
    ) -> dict[str, admin.TransactionDescription]:
        """Return the state of transactional ids and of their transactions, by id.

        Raises :class:`TransactionalIdNotFoundError` for an id that no coordinator knows.
        """
        return await self._core.transactions.describe_transactions(
            transactional_ids, timeout=timeout
        )

    async def list_transactions(
        self,
        *,
        states: Iterable[admin.TransactionState | str] = (),
        producer_ids: Iterable[int] = (),
        duration_ms: int | None = None,
        transactional_id_pattern: str | None = None,
        timeout: float | None = None,
    ) -> list[admin.TransactionListing]:
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
    ) -> dict[TopicPartition, tuple[admin.ProducerState, ...]]:
        """Return the idempotent and transactional producers that partitions know.

        The leaders are asked, or the replica on ``broker_id``. A producer stays known for a while
        after it has ended (``producer.id.expiration.ms``).
        """
        return await self._core.transactions.describe_producers(
            partitions, broker_id=broker_id, timeout=timeout
        )

    async def abort_transaction(
        self, spec: admin.AbortTransactionSpec, *, timeout: float | None = None
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
    ) -> dict[str, admin.ProducerIdAndEpoch]:
        """Fence the producers of transactional ids, and abort their open transactions.

        Return the next producer id and epoch of each. A producer that still runs gets
        :class:`ProducerFencedError`.
        """
        return await self._core.transactions.fence_producers(transactional_ids, timeout=timeout)

    async def force_terminate_transaction(
        self, transactional_id: str, *, timeout: float | None = None
    ) -> None:
        """Abort the open transaction of a transactional id, and fence its producer (KIP-939)."""
        await self._core.transactions.force_terminate_transaction(transactional_id, timeout=timeout)


class TransactionAdmin:
    """The part of :class:`Admin` that is about transactions and producers."""

    _core: AdminCore
    _thread: LoopThread

    def describe_transactions(
        self, transactional_ids: Iterable[str], *, timeout: float | None = None
    ) -> dict[str, admin.TransactionDescription]:
        """Return the state of transactional ids and of their transactions, by id.

        Raises :class:`TransactionalIdNotFoundError` for an id that no coordinator knows.
        """
        return self._thread.call(
            self._core.transactions.describe_transactions(transactional_ids, timeout=timeout)
        )

    def list_transactions(
        self,
        *,
        states: Iterable[admin.TransactionState | str] = (),
        producer_ids: Iterable[int] = (),
        duration_ms: int | None = None,
        transactional_id_pattern: str | None = None,
        timeout: float | None = None,
    ) -> list[admin.TransactionListing]:
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
    ) -> dict[TopicPartition, tuple[admin.ProducerState, ...]]:
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
        self, spec: admin.AbortTransactionSpec, *, timeout: float | None = None
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
    ) -> dict[str, admin.ProducerIdAndEpoch]:
        """Fence the producers of transactional ids, and abort their open transactions.

        Return the next producer id and epoch of each. A producer that still runs gets
        :class:`ProducerFencedError`.
        """
        return self._thread.call(
            self._core.transactions.fence_producers(transactional_ids, timeout=timeout)
        )

    def force_terminate_transaction(
        self, transactional_id: str, *, timeout: float | None = None
    ) -> None:
        """Abort the open transaction of a transactional id, and fence its producer (KIP-939)."""
        self._thread.call(
            self._core.transactions.force_terminate_transaction(transactional_id, timeout=timeout)
        )
