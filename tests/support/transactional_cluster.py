"""Scripted brokers with a transaction coordinator of one page, which judges what producers send."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from pyk.clients import AsyncProducer
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from pyk.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from pyk.protocol.messages.api_versions import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
)
from pyk.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from pyk.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from pyk.protocol.records import read_batches
from pyk.runtime.network import MemoryNetwork
from support.producing_cluster import ProducingCluster, make_producer

PRODUCER_ID = 4000
FIRST_VERSION_OF_V2 = {"produce": 12, "offsets": 5}


class TransactionalCluster(ProducingCluster):
    """Keeps what a transaction writes until it ends; one transactional id is enough.

    In version 2 a batch adds its partition, and each end raises the epoch.
    """

    def __init__(self, network: MemoryNetwork, nodes: int = 3, *, version: int = 2) -> None:
        super().__init__(network, nodes)
        self.version = version
        self.features_epoch = 1
        self.epoch = -1
        self.is_ongoing = False
        self.added: set[tuple[str, int]] = set()
        self.committed: list[bytes] = []
        self.aborted: list[bytes] = []
        self.offsets: dict[tuple[str, str, int], int] = {}
        self.ends: list[bool] = []
        self._may_repeat = False
        self._written: list[bytes] = []
        self._offsets: dict[tuple[str, str, int], int] = {}
        self.on(ApiVersionsRequest, self._api_versions)
        self.on(InitProducerIdRequest, self.init_producer_id)
        self.on(AddPartitionsToTxnRequest, self.add_partitions)
        self.on(AddOffsetsToTxnRequest, self.add_offsets)
        self.on(TxnOffsetCommitRequest, self.commit_offsets)
        self.on(EndTxnRequest, self.end)

    def use_version(self, version: int) -> None:
        """Finalize another level of ``transaction.version``."""
        self.version = version
        self.features_epoch += 1

    def init_producer_id(self, request: InitProducerIdRequest) -> InitProducerIdResponse:
        if request.transactional_id is None:
            return self._init_producer_id(request)
        if request.producer_id >= 0 and request.producer_epoch != self.epoch:
            return InitProducerIdResponse(error_code=ErrorCode.PRODUCER_FENCED)
        if self.is_ongoing:
            self._finish(is_commit=False)
        self.epoch += 1
        self._may_repeat = False
        return InitProducerIdResponse(producer_id=PRODUCER_ID, producer_epoch=self.epoch)

    def add_partitions(self, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
        code = self._judge_epoch(request.v3_and_below_producer_epoch)
        topics = []
        for topic in request.v3_and_below_topics:
            if not code:
                self.is_ongoing = True
                self.added.update((topic.name, number) for number in topic.partitions)
            results = [
                AddPartitionsToTxnPartitionResult(partition_index=number, partition_error_code=code)
                for number in topic.partitions
            ]
            topics.append(
                AddPartitionsToTxnTopicResult(name=topic.name, results_by_partition=results)
            )
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=topics)

    def add_offsets(self, request: AddOffsetsToTxnRequest) -> AddOffsetsToTxnResponse:
        code = self._judge_epoch(request.producer_epoch)
        if not code:
            self.is_ongoing = True
            self.added.add((request.group_id, -1))
        return AddOffsetsToTxnResponse(error_code=code)

    def add_offsets_with(self, code: ErrorCode) -> Callable[[Any], AddOffsetsToTxnResponse]:
        """Add nothing and answer with an error."""
        return lambda _: AddOffsetsToTxnResponse(error_code=code)

    def commit_offsets(self, request: TxnOffsetCommitRequest) -> TxnOffsetCommitResponse:
        return self.answer_offsets(request, self._judge_offsets(request))

    def answer_offsets(
        self, request: TxnOffsetCommitRequest, code: ErrorCode
    ) -> TxnOffsetCommitResponse:
        """Answer with one code for all partitions, and take the offsets if there is no error."""
        topics = []
        for topic in request.topics:
            for one in topic.partitions:
                if not code:
                    place = request.group_id, topic.name, one.partition_index
                    self._offsets[place] = one.committed_offset
            results = [
                TxnOffsetCommitResponsePartition(
                    partition_index=one.partition_index, error_code=code
                )
                for one in topic.partitions
            ]
            topics.append(TxnOffsetCommitResponseTopic(name=topic.name, partitions=results))
        return TxnOffsetCommitResponse(topics=topics)

    def end(self, request: EndTxnRequest) -> EndTxnResponse:
        raises_epoch = any(one.message is request and one.version >= 5 for one in self.received)
        is_before = request.producer_epoch == self.epoch - 1 and not self.is_ongoing
        if raises_epoch and is_before and self._may_repeat:
            code = ErrorCode.NONE if self.ends[-1] == request.committed else 48
            return EndTxnResponse(
                error_code=code, producer_id=PRODUCER_ID, producer_epoch=self.epoch
            )
        if code := self._judge_epoch(request.producer_epoch):
            return EndTxnResponse(error_code=code)
        may_be_empty = raises_epoch and not request.committed
        if not (self.is_ongoing or may_be_empty):
            is_repeated = bool(self.ends) and self.ends[-1] == request.committed
            return EndTxnResponse(error_code=0 if is_repeated else ErrorCode.INVALID_TXN_STATE)
        self._finish(is_commit=request.committed)
        if not raises_epoch:
            return EndTxnResponse()
        self.epoch += 1
        return EndTxnResponse(producer_id=PRODUCER_ID, producer_epoch=self.epoch)

    def _finish(self, *, is_commit: bool) -> None:
        self._may_repeat = True
        self.ends.append(is_commit)
        (self.committed if is_commit else self.aborted).extend(self._written)
        if is_commit:
            self.offsets.update(self._offsets)
        self._written.clear()
        self._offsets.clear()
        self.added.clear()
        self.is_ongoing = False

    def _judge_epoch(self, epoch: int) -> ErrorCode:
        return ErrorCode.NONE if epoch == self.epoch else ErrorCode.PRODUCER_FENCED

    def _judge_offsets(self, request: TxnOffsetCommitRequest) -> ErrorCode:
        if self.received[-1].version >= FIRST_VERSION_OF_V2["offsets"]:
            self.is_ongoing = True
        elif (request.group_id, -1) not in self.added:
            return ErrorCode.INVALID_TXN_STATE
        return self._judge_epoch(request.producer_epoch)

    def _append(self, place: tuple[str, int], data: Any) -> tuple[ErrorCode, int]:
        (batch,) = read_batches(data)
        if batch.is_transactional:
            if self.received[-1].version >= FIRST_VERSION_OF_V2["produce"]:
                self.is_ongoing = True
                self.added.add(place)
            if place not in self.added:
                return ErrorCode.INVALID_TXN_STATE, -1
            if batch.producer_epoch != self.epoch:
                return ErrorCode.INVALID_PRODUCER_EPOCH, -1
        count = len(self.logs[place].values)
        answer = super()._append(place, data)
        if batch.is_transactional:
            self._written += self.logs[place].values[count:]
        return answer

    def _api_versions(self, request: ApiVersionsRequest) -> ApiVersionsResponse:
        level = FinalizedFeatureKey(
            name="transaction.version",
            max_version_level=self.version,
            min_version_level=self.version,
        )
        return ApiVersionsResponse(
            api_keys=self.offered(self.received[-1].node_id),
            finalized_features_epoch=self.features_epoch,
            finalized_features=[level],
        )


@asynccontextmanager
async def transacting(
    version: int = 2, *, partitions: int = 3, **options: Any
) -> AsyncIterator[tuple[TransactionalCluster, AsyncProducer[Any, Any]]]:
    """Run three brokers with the topic ``orders``, and a transactional producer."""
    async with TransactionalCluster(MemoryNetwork(latency=0.001), version=version) as cluster:
        cluster.add_topic("orders", [1 + index % 3 for index in range(partitions)])
        options.setdefault("transactional_id", "billing")
        async with make_producer(cluster, **options) as producer:
            yield cluster, producer
