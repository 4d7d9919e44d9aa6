from __future__ import annotations

import pytest

from pyk.clients.consumer.group.losses import Losses
from pyk.clients.errors import CommitFailedError
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


def test_a_loss_is_an_error_until_the_application_knows_it() -> None:
    losses = Losses()
    losses.check_heard()

    losses.lose({A0: 5})

    with pytest.raises(CommitFailedError, match="a-0"):
        losses.check_heard()
    losses.heard()
    losses.check_heard()


def test_a_transaction_fails_by_a_revocation_that_the_application_knows_of() -> None:
    losses = Losses()
    losses.check_transaction()

    losses.take_away({A1: 5})
    losses.heard()

    with pytest.raises(CommitFailedError, match="a-1"):
        losses.check_transaction()


def test_an_aborted_transaction_has_no_records_of_lost_partitions() -> None:
    losses = Losses()
    losses.take_away({A1: 5})

    losses.transaction_aborted()

    losses.check_transaction()


@pytest.mark.parametrize("offset", [5, 6])
def test_a_transaction_that_committed_all_that_was_taken_away_ends_the_loss(offset: int) -> None:
    losses = Losses()
    losses.take_away({A0: 5})

    losses.stored_by_transaction({A0: OffsetAndMetadata(offset), A1: OffsetAndMetadata(0)})

    losses.check_transaction()


def test_a_transaction_that_committed_less_than_was_taken_away_leaves_the_loss() -> None:
    losses = Losses()
    losses.take_away({A0: 5})

    losses.stored_by_transaction({A0: OffsetAndMetadata(4)})

    with pytest.raises(CommitFailedError):
        losses.check_transaction()
