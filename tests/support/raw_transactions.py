"""Transactions that commit offsets for a group, request by request."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from pyk.protocol.messages.delete_groups import DeleteGroupsRequest
from pyk.protocol.messages.end_txn import EndTxnRequest
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest
from pyk.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pyk.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from pyk.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from pyk.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from support.raw_coordinator import GROUP_KEY, TRANSACTION_KEY, RawCoordinator, code_of


class RawTransactions:
    """A transactional producer, the group that it commits for, and one partition of a topic.

    ``transaction_version`` 2 adds the group by TxnOffsetCommit itself (KIP-890).
    """

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        group: str,
        transaction_version: int = 1,
        *,
        transactional_id: str = "",
    ) -> None:
        self._topic = topic
        self._group = group
        self._transactional_id = transactional_id or f"{group}-{transaction_version}"
        self._is_version_2 = transaction_version == 2
        self._of_group = RawCoordinator(bootstrap, GROUP_KEY, group)
        self._of_transactions = RawCoordinator(bootstrap, TRANSACTION_KEY, self._transactional_id)

    async def __aenter__(self) -> Self:
        await self._of_group.__aenter__()
        await self._of_transactions.__aenter__()
        await self.init()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._of_group.__aexit__(*exc)
        await self._of_transactions.__aexit__(*exc)

    # -- the producer ------------------------------------------------------------------------------

    async def init(self) -> None:
        request = InitProducerIdRequest(
            transactional_id=self._transactional_id, transaction_timeout_ms=60_000
        )
        response = await self._of_transactions.ask_until_ready(request, 5)
        assert response.error_code == 0
        self.producer_id, self.producer_epoch = response.producer_id, response.producer_epoch

    @property
    def _producer(self) -> dict[str, Any]:
        return {
            "transactional_id": self._transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.producer_epoch,
        }

    async def commit(self, offset: int, **more: Any) -> ErrorCode:
        """Commit an offset in the transaction, and begin it where there is none."""
        if not self._is_version_2:
            adding = AddOffsetsToTxnRequest(**self._producer, group_id=self._group)
            assert (await self._of_transactions.ask_until_ready(adding, 3)).error_code == 0
        committed = TxnOffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_metadata=None
        )
        request = TxnOffsetCommitRequest(
            **{**self._producer, "group_id": self._group, "member_id": "", **more},
            topics=[TxnOffsetCommitRequestTopic(name=self._topic, partitions=[committed])],
        )
        return code_of(
            await self._of_group.ask_until_ready(request, 5 if self._is_version_2 else 4)
        )

    async def end(self, *, is_commit: bool) -> None:
        request = EndTxnRequest(**self._producer, committed=is_commit)
        version = 5 if self._is_version_2 else 4
        response = await self._of_transactions.ask_until_ready(request, version)
        assert response.error_code == 0
        if self._is_version_2:
            self.producer_id, self.producer_epoch = response.producer_id, response.producer_epoch

    # -- the group ---------------------------------------------------------------------------------

    async def commit_outside(self, offset: int) -> ErrorCode:
        """Commit an offset without a transaction."""
        committed = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        request = OffsetCommitRequest(
            group_id=self._group,
            topics=[OffsetCommitRequestTopic(name=self._topic, partitions=[committed])],
        )
        return code_of(await self._of_group.ask_until_ready(request, 8))

    async def delete_offset(self) -> ErrorCode:
        partition = OffsetDeleteRequestPartition(partition_index=0)
        topic = OffsetDeleteRequestTopic(name=self._topic, partitions=[partition])
        request = OffsetDeleteRequest(group_id=self._group, topics=[topic])
        return code_of(await self._of_group.ask(request, 0))

    async def delete_group(self) -> ErrorCode:
        request = DeleteGroupsRequest(groups_names=[self._group])
        return code_of(await self._of_group.ask(request, 2))

    async def committed(self) -> int:
        """Return the committed offset as it is, -1 if there is none."""
        return (await self._fetch(require_stable=False))[0]

    async def is_unstable(self) -> bool:
        return (await self._fetch(require_stable=True))[1] is ErrorCode.UNSTABLE_OFFSET_COMMIT

    async def stable(self) -> int:
        """Return the committed offset once no transaction may change it."""
        async with asyncio.timeout(20):
            while await self.is_unstable():
                await asyncio.sleep(0.02)
        return await self.committed()

    async def _fetch(self, *, require_stable: bool) -> tuple[int, ErrorCode]:
        asked = OffsetFetchRequestTopics(name=self._topic, partition_indexes=[0])
        group = OffsetFetchRequestGroup(group_id=self._group, topics=[asked])
        request = OffsetFetchRequest(groups=[group], require_stable=require_stable)
        (found,) = (await self._of_group.ask_until_ready(request, 8)).groups
        result = found.topics[0].partitions[0]
        return result.committed_offset, ErrorCode(result.error_code)
