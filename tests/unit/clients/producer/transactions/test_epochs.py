"""When the next transaction of a producer needs another epoch."""

from __future__ import annotations

import pytest

from pyk.clients.producer.sending.sequences import ProducerIdentity
from pyk.clients.producer.transactions.epochs import TransactionEpochs

IDENTITY = ProducerIdentity(7, 3)


def initialized(version: int) -> TransactionEpochs:
    epochs = TransactionEpochs()
    epochs.use(version)
    epochs.received(IDENTITY)
    return epochs


def test_a_new_producer_has_no_identity_and_needs_one() -> None:
    epochs = TransactionEpochs()

    assert epochs.identity is None
    assert epochs.must_initialize
    assert epochs.version == 1


@pytest.mark.parametrize("version", [1, 2])
def test_an_identity_is_used_until_something_is_in_doubt(version: int) -> None:
    epochs = initialized(version)

    assert epochs.identity == IDENTITY
    assert not epochs.must_initialize


@pytest.mark.parametrize(("version", "must_initialize"), [(1, True), (2, False)])
def test_a_doubt_costs_an_epoch_only_where_ends_raise_none(
    version: int, must_initialize: bool
) -> None:
    epochs = initialized(version)

    epochs.in_doubt()

    assert epochs.must_initialize is must_initialize
    epochs.received(ProducerIdentity(7, 4))
    assert not epochs.must_initialize


@pytest.mark.parametrize(
    ("before", "after", "must_initialize"),
    [(1, 1, False), (2, 2, False), (1, 2, True), (2, 1, True)],
)
def test_another_version_begins_with_another_epoch(
    before: int, after: int, must_initialize: bool
) -> None:
    epochs = initialized(before)

    epochs.use(after)

    assert (epochs.version, epochs.must_initialize) == (after, must_initialize)
    assert epochs.identity == IDENTITY
