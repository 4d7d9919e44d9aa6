"""DescribeTransactions, ListTransactions (KIP-664)."""

from __future__ import annotations

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import describe_transactions as describing
from pyk.protocol.messages import list_transactions as listing
from pyk.reference_broker.controller.names import TRANSACTION_STATE_TOPIC
from pyk.reference_broker.coordinator.decision import NOTHING, Decision
from pyk.reference_broker.coordinator.transaction.description import (
    TransactionFilter,
    describe,
    listed,
)
from pyk.reference_broker.coordinator.transaction.shard import TransactionShard
from pyk.reference_broker.deferred import Deferred, HandlerResult, gather
from pyk.runtime.timers import Moment

from .ask_shard import ShardServices, ask_all_shards, ask_shard
from .context import RequestContext


def describe_transactions(
    services: ShardServices,
    request: describing.DescribeTransactionsRequest,
    context: RequestContext,
) -> HandlerResult:
    """Describe transactional ids that this broker coordinates."""
    described = [_describe(services, each) for each in request.transactional_ids]
    return gather(described).then(
        lambda found: describing.DescribeTransactionsResponse(transaction_states=found)
    )


def _describe(
    services: ShardServices, transactional_id: str
) -> Deferred[describing.TransactionState]:
    def handle(shard: TransactionShard, _: Moment) -> tuple[describing.TransactionState, Decision]:
        return describe(transactional_id, shard.transactions.get(transactional_id)), NOTHING

    def or_error(found: describing.TransactionState | ErrorCode) -> describing.TransactionState:
        if isinstance(found, ErrorCode):
            return describing.TransactionState(transactional_id=transactional_id, error_code=found)
        return found

    if not transactional_id:
        refused: Deferred[describing.TransactionState] = Deferred()
        refused.complete(or_error(ErrorCode.INVALID_REQUEST))
        return refused
    return ask_shard(services, TRANSACTION_STATE_TOPIC, transactional_id, handle).then(or_error)


def list_transactions(
    services: ShardServices,
    request: listing.ListTransactionsRequest,
    context: RequestContext,
) -> HandlerResult:
    """List the transactional ids that this broker coordinates and that match all filters."""
    wanted = TransactionFilter.of(request)

    def view(shard: TransactionShard, moment: Moment) -> list[listing.TransactionState]:
        return listed(shard.transactions.values(), wanted, moment.time_ms)

    def respond(
        found: list[listing.TransactionState] | ErrorCode,
    ) -> listing.ListTransactionsResponse:
        if isinstance(found, ErrorCode):
            return listing.ListTransactionsResponse(error_code=found)
        return listing.ListTransactionsResponse(
            unknown_state_filters=wanted.unknown_states, transaction_states=found
        )

    return ask_all_shards(services, TRANSACTION_STATE_TOPIC, view).then(respond)
