"""List and describe transactions and producers, and abort what hangs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from pyk.clients import (
    AbortTransactionSpec,
    ProducerState,
    TopicPartition,
    TransactionalIdNotFoundError,
    TransactionDescription,
)
from pyk.command_line.arguments import confirm
from pyk.command_line.frame.connecting import admin
from pyk.command_line.frame.exit_codes import ExitCode
from pyk.command_line.frame.failures import CommandError
from pyk.command_line.frame.output import (
    Row,
    print_facts,
    print_json,
    print_rows,
    tell,
    wants_json,
)
from pyk.command_line.frame.suggestions import did_you_mean
from pyk.command_line.frame.tables import Column
from pyk.command_line.work.topics import named_partitions

TRANSACTIONS = (
    Column("transactionalId", style="bold"),
    Column("state"),
    Column("producerId"),
    Column("coordinator"),
)
PRODUCERS = (
    Column("topic", style="bold"),
    Column("partition"),
    Column("producerId"),
    Column("producerEpoch", "Epoch"),
    Column("lastSequence"),
    Column("lastTimestamp"),
    Column("startOffset", "Open since offset"),
)


def show_list(states: Sequence[str], seconds: float | None) -> None:
    """Print the transactional ids of all coordinators."""
    duration_ms = None if seconds is None else int(seconds * 1000)
    with admin() as client:
        try:
            found = client.list_transactions(states=states, duration_ms=duration_ms)
        except ValueError as error:  # of a state that does not exist
            raise CommandError(str(error), ExitCode.USAGE) from None
    rows = [
        {
            "transactionalId": one.transactional_id,
            "state": one.state.value,
            "producerId": one.producer_id,
            "coordinator": one.coordinator_id,
        }
        for one in found
    ]
    print_rows(TRANSACTIONS, rows)


def describe(transactional_ids: Sequence[str]) -> None:
    """Print transactional ids with their open transactions."""
    with admin() as client:
        try:
            described = client.describe_transactions(transactional_ids)
        except TransactionalIdNotFoundError:
            known = [one.transactional_id for one in client.list_transactions()]
            unknown = next(each for each in transactional_ids if each not in known)
            advice = did_you_mean(unknown, known) or "see pyk transaction list"
            raise CommandError(f"no coordinator knows {unknown!r}; {advice}") from None
    for transactional_id in transactional_ids:
        facts = _facts(transactional_id, described[transactional_id])
        if wants_json():
            print_json(facts)
        else:
            print_facts(facts)


def _facts(transactional_id: str, one: TransactionDescription) -> Row:
    started_ms = one.transaction_start_time_ms
    return {
        "transactionalId": transactional_id,
        "state": one.state.value,
        "producerId": one.producer_id,
        "producerEpoch": one.producer_epoch,
        "coordinator": one.coordinator_id,
        "timeoutMs": one.transaction_timeout_ms,
        "openSince": None if started_ms is None else _time(started_ms),
        "partitions": [str(each) for each in sorted(one.topic_partitions)],
    }


def show_producers(topics: Sequence[str], *, is_open: bool) -> None:
    """Print the producers of partitions."""
    with admin() as client:
        found = client.describe_producers(named_partitions(client, topics))
    rows = [
        _producer_row(partition, one)
        for partition, some in sorted(found.items())
        for one in sorted(some, key=lambda one: one.producer_id)
        if not is_open or one.current_transaction_start_offset is not None
    ]
    print_rows(PRODUCERS, rows)


def _producer_row(partition: TopicPartition, one: ProducerState) -> Row:
    return {
        "topic": partition.topic,
        "partition": partition.partition,
        "producerId": one.producer_id,
        "producerEpoch": one.producer_epoch,
        "lastSequence": one.last_sequence,
        "lastTimestamp": None if one.last_timestamp < 0 else _time(one.last_timestamp),
        "startOffset": one.current_transaction_start_offset,
    }


def abort(text: str, start_offset: int, *, is_sure: bool) -> None:
    """Abort the transaction that starts at an offset of a partition."""
    with admin() as client:
        partitions = named_partitions(client, [text])
        if len(partitions) != 1:
            raise CommandError(
                f"name one partition, as in {text.partition(':')[0]}:0", ExitCode.USAGE
            )
        [partition] = partitions
        open_at = {
            one.current_transaction_start_offset: one
            for one in client.describe_producers(partitions)[partition]
            if one.current_transaction_start_offset is not None
        }
        if start_offset not in open_at:
            starts = ", ".join(map(str, sorted(open_at)))
            others = f"those that are open start at {starts}" if starts else "none is open there"
            raise CommandError(
                f"{partition} has no open transaction that starts at {start_offset}; {others}"
            )
        one = open_at[start_offset]
        confirm(f"Abort the transaction of producer {one.producer_id}?", is_sure=is_sure)
        epoch = max(one.coordinator_epoch or 0, 0)
        client.abort_transaction(
            AbortTransactionSpec(partition, one.producer_id, one.producer_epoch, epoch)
        )
    tell(f"transaction of producer {one.producer_id} aborted", _producer_row(partition, one))


def fence(transactional_ids: Sequence[str], *, is_sure: bool) -> None:
    """Fence the producers of transactional ids."""
    confirm(f"Fence the producers of {', '.join(transactional_ids)}?", is_sure=is_sure)
    with admin() as client:
        fenced = client.fence_producers(transactional_ids)
    for transactional_id, one in sorted(fenced.items()):
        form = {
            "transactionalId": transactional_id,
            "producerId": one.producer_id,
            "producerEpoch": one.epoch,
        }
        tell(f"producers of {transactional_id} fenced", form)


def _time(time_ms: int) -> str:
    at = datetime.fromtimestamp(time_ms / 1000, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
