"""Two-phase commits (KIP-939): open transactions that a later producer keeps, and ends."""

from __future__ import annotations

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.coordinator.transaction.transaction import LAST_EPOCH, NO_TIMEOUT_MS
from pyk.runtime import slotted
from support.transactions import BILLS, ID, ORDERS, Transactions

OK = ErrorCode.NONE
FENCED = ErrorCode.PRODUCER_FENCED
VERSIONS = [1, 2]
Identity = tuple[int, int]


def open_transaction(version: int = 2, epoch: int = 0) -> tuple[Transactions, Identity]:
    """Begin a transaction of two phases; its producer is in ``epoch``."""
    transactions = Transactions(version=version, allows_two_phases=True)
    producer = transactions.init(is_two_phase=True)
    assert isinstance(producer, tuple)
    producer = (producer[0], epoch)
    transactions.shard.transactions[ID] = slotted.evolve(
        transactions.shard.transactions[ID], producer_epoch=epoch
    )
    assert transactions.add(producer) is OK
    return transactions, producer


def keep(transactions: Transactions) -> tuple[Identity, Identity | None]:
    """Return the identity of the producer that keeps the transaction, and what it is told of it."""
    asking = transactions.initializing(is_two_phase=True, keeps_prepared=True)
    identity = asking.response
    return (identity.producer_id, identity.producer_epoch), identity.kept


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("commit", [True, False])
def test_the_producer_that_keeps_a_transaction_ends_it(version: int, commit: bool) -> None:
    transactions, (producer_id, epoch) = open_transaction(version)

    keeper, kept = keep(transactions)
    assert keeper == (producer_id, epoch + 1)
    assert kept == (producer_id, epoch)
    following = transactions.end(keeper, commit=commit)

    ((markers, _),) = transactions.markers
    raised = 1 if version == 2 else 0
    assert (markers.commit, markers.partitions) == (commit, {ORDERS})
    assert (markers.producer_id, markers.producer_epoch) == (producer_id, epoch + raised)
    transactions.leaders_answer()
    assert following == (producer_id, epoch + 1 + raised)
    assert transactions.end(keeper, commit=commit) == following
    assert transactions.add(following) is OK


@pytest.mark.parametrize("version", VERSIONS)
def test_a_kept_transaction_survives_a_crash(version: int) -> None:
    transactions, producer = open_transaction(version)
    keeper, _ = keep(transactions)

    transactions.restart()

    assert keep(transactions) == ((keeper[0], keeper[1] + 1), producer)


def test_each_producer_that_keeps_a_transaction_fences_the_one_before() -> None:
    transactions, (producer_id, epoch) = open_transaction()

    keepers = [keep(transactions)[0] for _ in range(3)]

    assert keepers == [(producer_id, epoch + count) for count in (1, 2, 3)]
    for fenced in ((producer_id, epoch), *keepers[:-1]):
        assert transactions.end(fenced) is FENCED
    assert transactions.state() == "Ongoing"
    assert transactions.end(keepers[-1]) == (producer_id, epoch + 4)


def test_a_producer_that_keeps_a_transaction_adds_nothing_to_it() -> None:
    transactions, producer = open_transaction()
    keeper, _ = keep(transactions)

    assert transactions.add(producer, [BILLS]) is OK  # as in Kafka
    assert transactions.add(keeper, [BILLS]) is ErrorCode.INVALID_TXN_STATE
    assert transactions.add((keeper[0], keeper[1] + 1), [BILLS]) is FENCED


def test_a_kept_transaction_is_aborted_before_a_producer_that_keeps_nothing() -> None:
    transactions, _ = open_transaction()
    keeper, _ = keep(transactions)

    assert transactions.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    assert transactions.state() == "PrepareAbort"
    transactions.leaders_answer()

    assert transactions.add(keeper) is FENCED
    assert transactions.init() == (keeper[0], keeper[1] + 2)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_kept_transaction_gets_a_new_producer_id_after_the_last_epoch(times: int) -> None:
    transactions, (producer_id, epoch) = open_transaction(epoch=LAST_EPOCH - 3)
    markers_epoch = epoch + 1

    for _ in range(times):
        keeper, kept = keep(transactions)
    assert kept == (producer_id, epoch)
    following = transactions.end(keeper)

    expected = {
        1: ((producer_id, LAST_EPOCH - 2), (producer_id, LAST_EPOCH - 1)),
        2: ((producer_id, LAST_EPOCH - 1), (producer_id + 1, 0)),
        3: ((producer_id + 1, 0), (producer_id + 1, 1)),
    }
    assert (keeper, following) == expected[times]
    ((markers, _),) = transactions.markers
    assert (markers.producer_id, markers.producer_epoch) == (producer_id, markers_epoch)
    assert transactions.end(keeper) is ErrorCode.CONCURRENT_TRANSACTIONS
    transactions.leaders_answer()
    assert transactions.end(keeper) == following


def test_a_transaction_of_two_phases_has_no_timeout() -> None:
    transactions, _ = open_transaction()

    transactions.advance(1e6)

    assert transactions.state() == "Ongoing"
    assert transactions.shard.transactions[ID].timeout_ms == NO_TIMEOUT_MS


def test_without_an_open_transaction_nothing_is_kept() -> None:
    transactions = Transactions(allows_two_phases=True)

    assert keep(transactions) == ((100, 0), None)
    assert keep(transactions) == ((100, 1), None)


def test_a_decided_transaction_is_not_kept() -> None:
    transactions, producer = open_transaction()
    transactions.end(producer)

    refused = transactions.init(is_two_phase=True, keeps_prepared=True)

    assert refused is ErrorCode.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize(
    ("allows", "version", "asked", "code"),
    [
        (False, 2, {"is_two_phase": True}, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (False, 2, {"keeps_prepared": True}, ErrorCode.UNSUPPORTED_VERSION),
        (True, 2, {"keeps_prepared": True}, ErrorCode.UNSUPPORTED_VERSION),
        (True, 0, {"is_two_phase": True, "keeps_prepared": True}, ErrorCode.UNSUPPORTED_VERSION),
    ],
)
def test_two_phases_are_refused_where_they_are_not_to_be_had(
    allows: bool, version: int, asked: dict[str, bool], code: ErrorCode
) -> None:
    transactions = Transactions(version=version, allows_two_phases=allows)

    assert transactions.init(**asked) is code


def test_a_producer_cannot_keep_a_transaction_and_go_on_with_its_identity() -> None:
    transactions, producer = open_transaction()

    refused = transactions.init(expected=producer, is_two_phase=True, keeps_prepared=True)

    assert refused is ErrorCode.INVALID_REQUEST
