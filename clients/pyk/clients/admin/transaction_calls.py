"""Calls about transactions, and about the producers that partitions know."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from pyk.clients.admin import transactions
from pyk.clients.admin.access_arguments import checked_abort_spec, checked_transaction_states
from pyk.clients.admin.all_brokers import from_all_brokers
from pyk.clients.admin.arguments import (
    checked_milliseconds,
    checked_name,
    checked_names,
    checked_node_id,
    checked_numbers,
    checked_partitions,
)
from pyk.clients.admin.calls import Calls
from pyk.clients.admin.routes import Route, ToCoordinators, ToLeaders, ToNodes
from pyk.clients.admin.transactions import (
    AbortTransactionSpec,
    ProducerIdAndEpoch,
    ProducerState,
    TransactionDescription,
    TransactionListing,
    TransactionState,
)
from pyk.clients.arguments import checked_timeout
from pyk.clients.engine.coordinators import CoordinatorType
from pyk.clients.errors import KafkaError, NotLeaderOrFollowerError, error_for
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.describe_transactions import DescribeTransactionsRequest
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest
from pyk.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)

FIRST_VERSION_WITH_DURATION = 1
FIRST_VERSION_WITH_PATTERN = 2


class TransactionCalls:
    """Carries out the calls about transactions; :class:`AsyncAdmin` documents them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def describe_transactions(
        self, transactional_ids: Iterable[str], *, timeout: float | None
    ) -> dict[str, TransactionDescription]:
        ids = checked_names(transactional_ids, "a transactional id")
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[str]) -> Any:
            request = DescribeTransactionsRequest(transactional_ids=list(some))
            return transactions.described_transactions(
                await self._calls.send(node_id, request, deadline), node_id
            )

        return await self._calls.settle(ids, self._to_coordinators(), ask, deadline)

    async def list_transactions(
        self,
        *,
        states: Iterable[TransactionState | str],
        producer_ids: Iterable[int],
        duration_ms: int | None,
        transactional_id_pattern: str | None,
        timeout: float | None,
    ) -> list[TransactionListing]:
        duration_ms = checked_milliseconds(duration_ms, "duration_ms")
        if transactional_id_pattern is not None:
            checked_name(transactional_id_pattern, "transactional_id_pattern")
        request = ListTransactionsRequest(
            state_filters=checked_transaction_states(states),
            producer_id_filters=checked_numbers(producer_ids, "a producer id"),
            duration_filter=-1 if duration_ms is None else duration_ms,
            transactional_id_pattern=transactional_id_pattern,
        )
        min_version = None
        if transactional_id_pattern is not None:
            min_version = FIRST_VERSION_WITH_PATTERN
        elif duration_ms is not None:
            min_version = FIRST_VERSION_WITH_DURATION

        async def ask(node_id: int, deadline: float) -> list[TransactionListing]:
            answer: ListTransactionsResponse = await self._calls.send(
                node_id, request, deadline, min_version=min_version
            )
            if answer.error_code != ErrorCode.NONE:
                raise error_for(answer.error_code, node_id=node_id)
            return transactions.transaction_listings(answer.transaction_states, node_id)

        listings = await from_all_brokers(self._calls, ask, timeout)
        return sorted(listings, key=lambda one: one.transactional_id)

    async def describe_producers(
        self,
        partitions: Iterable[TopicPartition],
        *,
        broker_id: int | None,
        timeout: float | None,
    ) -> dict[TopicPartition, tuple[ProducerState, ...]]:
        wanted = checked_partitions(partitions)
        node_id = checked_node_id(broker_id)
        deadline = await self._calls.begin(timeout)
        client = self._calls.client
        route: Route = ToLeaders(client)
        if node_id is not None:
            nodes = dict.fromkeys(wanted, node_id)
            route = ToNodes(client, nodes, lasting=(NotLeaderOrFollowerError,))

        async def ask(node_id: int, some: Sequence[TopicPartition]) -> Any:
            request = transactions.describe_producers_request(some)
            return transactions.described_producers(
                await self._calls.send(node_id, request, deadline)
            )

        return await self._calls.settle(wanted, route, ask, deadline)

    async def abort_transaction(self, spec: AbortTransactionSpec, *, timeout: float | None) -> None:
        checked_abort_spec(spec)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, _: Sequence[TopicPartition]) -> Any:
            response = await self._calls.send(node_id, transactions.abort_request(spec), deadline)
            return transactions.written_markers(response, spec.producer_id)

        await self._calls.change(
            [spec.topic_partition], ToLeaders(self._calls.client), ask, deadline
        )

    async def fence_producers(
        self, transactional_ids: Iterable[str], *, timeout: float | None
    ) -> dict[str, ProducerIdAndEpoch]:
        ids = checked_names(transactional_ids, "a transactional id")
        seconds = checked_timeout(timeout)
        timeout_ms = self._calls.client.config.request_timeout_ms
        if seconds is not None:
            timeout_ms = max(1, int(seconds * 1000))
        deadline = await self._calls.begin(timeout)

        async def fence(node_id: int, transactional_id: str) -> ProducerIdAndEpoch | KafkaError:
            request = InitProducerIdRequest(
                transactional_id=transactional_id, transaction_timeout_ms=timeout_ms
            )
            try:
                response = await self._calls.send(node_id, request, deadline)
            except KafkaError as error:
                return error
            return transactions.fenced_producer(response, transactional_id, node_id)

        async def ask(node_id: int, some: Sequence[str]) -> Any:
            # Only one id fits into a request.
            found = await asyncio.gather(*(fence(node_id, one) for one in some))
            return dict(zip(some, found, strict=True))

        return await self._calls.change(ids, self._to_coordinators(), ask, deadline)

    async def force_terminate_transaction(
        self, transactional_id: str, *, timeout: float | None
    ) -> None:
        await self.fence_producers(
            [checked_name(transactional_id, "a transactional id")], timeout=timeout
        )

    def _to_coordinators(self) -> ToCoordinators:
        return ToCoordinators(self._calls.client, kind=CoordinatorType.TRANSACTION)
