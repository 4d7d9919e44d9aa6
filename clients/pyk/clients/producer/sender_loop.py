"""Does what the sender decides: sends requests, waits for answers, hands results out."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Iterable
from uuid import UUID

from pyk.clients.config import ProducerConfig
from pyk.clients.engine.client import Client
from pyk.clients.errors import KafkaError, MalformedResponseError, StateError, error_for
from pyk.clients.producer.accumulator import RecordAccumulator
from pyk.clients.producer.produce_call import ProduceCall
from pyk.clients.producer.sender import Consequences, Sender, Settlement
from pyk.clients.producer.sequences import ProducerIdentity
from pyk.clients.producer.wakeup import Wakeup
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from pyk.protocol.messages.produce import ProduceResponse

log = logging.getLogger(__name__)

NO_TRANSACTIONS = (1 << 31) - 1


class SenderLoop:
    """The task that drives a :class:`Sender`; it hears by callback how each request ended."""

    def __init__(
        self,
        client: Client,
        config: ProducerConfig,
        accumulator: RecordAccumulator,
        sender: Sender,
        wakeup: Wakeup,
    ) -> None:
        self._client = client
        self._config = config
        self._accumulator = accumulator
        self._sender = sender
        self._wakeup = wakeup
        self._is_getting_producer_id = False
        self.delivered_records = 0
        self.failed_records = 0

    def start(self) -> None:
        """Begin, and get a producer id before the first record needs it."""
        self._client.supervisor.spawn("send batches", self._run())
        if self._config.enable_idempotence:
            self._get_producer_id_soon()

    def abandon(self, error: KafkaError) -> None:
        """Give up every record that is not settled."""
        self._settle(self._sender.abandon(error))

    async def _run(self) -> None:
        try:
            while True:
                look_again_at = self._act(self._client.clock.now())
                await self._wakeup.wait_until(look_again_at)
        except Exception as error:
            self._give_up(error)
            raise

    def _give_up(self, mistake: Exception) -> None:
        """After a mistake of ours: nobody shall wait for what will never be sent."""
        failure = StateError(f"the producer failed by a mistake of pyk: {mistake!r}")
        self._accumulator.refuse(failure)
        self.abandon(failure)

    def _act(self, now: float) -> float:
        plan = self._sender.poll(now, self._client.metadata.leader)
        self._settle(plan.settlements)
        for call in plan.calls:
            self._begin(call)
        if plan.needs_metadata:
            self._client.request_metadata_update()
        if plan.needs_producer_id:
            self._get_producer_id_soon()
        return plan.look_again_at

    def _begin(self, call: ProduceCall) -> None:
        try:
            answer = self._submit(call)
        except KafkaError as error:
            self._follow(self._sender.failed(call, error, self._client.clock.now()))
        else:
            answer.add_done_callback(functools.partial(self._ended, call))

    def _submit(self, call: ProduceCall) -> asyncio.Future[ProduceResponse | None]:
        client, timeout_ms = self._client, self._config.request_timeout_ms
        request = call.request(self._config.acks, timeout_ms, self._topic_id)
        if self._config.acks == 0:
            # Nobody answers, so it is the socket that has to say when it is too much.
            sending = client.send(call.node_id, request, max_version=call.max_version)
            return client.supervisor.spawn(f"produce to node {call.node_id}", sending)
        return client.submit(call.node_id, request, max_version=call.max_version)

    def _ended(self, call: ProduceCall, answer: asyncio.Future[ProduceResponse | None]) -> None:
        """Tell the sender how a call ended, and do what follows."""
        if answer.cancelled():
            return  # with the client, and everything else
        now, error = self._client.clock.now(), answer.exception()
        response = answer.result() if error is None else None
        try:
            if error is None:
                consequences = self._sender.answered(call, response, now)
            else:
                consequences = self._sender.failed(call, _as_kafka_error(error), now)
            self._follow(consequences, response)
        except Exception as mistake:
            log.exception("The producer failed by a mistake of pyk")
            self._give_up(mistake)

    def _follow(self, consequences: Consequences, response: ProduceResponse | None = None) -> None:
        self._settle(consequences.settlements)
        if consequences.leaders and response is not None:
            self._client.update_leaders(consequences.leaders, response.node_endpoints)
        elif consequences.needs_metadata:
            self._client.request_metadata_update()
        self._wakeup.set()

    def _settle(self, settlements: Iterable[Settlement]) -> None:
        for end in settlements:
            batch = end.batch
            self._accumulator.release(batch)
            if end.error is None:
                self.delivered_records += batch.count
                batch.result.complete(end.base_offset, end.log_append_time)
            else:
                self.failed_records += batch.count
                batch.result.fail(end.error, batch.count, end.record_errors)

    def _topic_id(self, name: str) -> UUID | None:
        topic = self._client.metadata.topic(name)
        return None if topic is None else topic.topic_id

    def _get_producer_id_soon(self) -> None:
        if not self._is_getting_producer_id:
            self._is_getting_producer_id = True
            self._client.supervisor.spawn("get a producer id", self._get_producer_id())

    async def _get_producer_id(self) -> None:
        """Ask for a producer id until there is one; what waits for it expires by itself."""
        client, failures = self._client, 0
        try:
            while True:
                try:
                    self._sender.producer_id_received(await self._ask_for_producer_id())
                    return
                except KafkaError as error:
                    if not error.retriable:
                        self._settle(self._sender.producer_id_refused(error))
                        return
                    log.info("No producer id yet: %s", error)
                failures += 1
                await asyncio.sleep(client.retry_backoff.delay(failures, client.random.random()))
        finally:
            self._is_getting_producer_id = False
            self._wakeup.set()

    async def _ask_for_producer_id(self) -> ProducerIdentity:
        timeout = self._config.request_timeout_ms / 1000
        response: InitProducerIdResponse = await self._client.send_to_any(
            InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=NO_TRANSACTIONS),
            self._client.clock.now() + timeout,
        )
        if response.error_code != ErrorCode.NONE:
            raise error_for(response.error_code)
        if response.producer_id < 0 or response.producer_epoch < 0:
            raise MalformedResponseError(
                f"a broker gave out producer id {response.producer_id}, "
                f"epoch {response.producer_epoch}, which cannot be one"
            )
        return ProducerIdentity(response.producer_id, response.producer_epoch)


def _as_kafka_error(error: BaseException) -> KafkaError:
    """Return an error as callers of a producer know them; others are mistakes of ours."""
    if isinstance(error, KafkaError):
        return error
    log.error("A produce request failed by a mistake of pyk", exc_info=error)
    return StateError(f"a produce request failed by a mistake of pyk: {error!r}", definite=False)
