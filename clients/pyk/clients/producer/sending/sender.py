"""Do what the planner decides: send requests, take their responses, hand out outcomes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from pyk.clients.config import ProducerConfig
from pyk.clients.engine.client import Client
from pyk.clients.engine.metadata import MetadataImage
from pyk.clients.engine.thread import LoopThread
from pyk.clients.errors import KafkaError, StateError
from pyk.clients.producer.batching.accumulator import RecordAccumulator
from pyk.clients.producer.batching.batch import ProducerBatch
from pyk.clients.producer.sending.identity_driver import IdentityAsker, IdentityDriver
from pyk.clients.producer.sending.plan import ResponseEffects
from pyk.clients.producer.sending.produce_call import AllWritten, ProduceCall
from pyk.clients.producer.sending.scheduled_turn import ScheduledTurn
from pyk.clients.producer.sending.send_planner import SendPlanner
from pyk.protocol.messages.produce import ProduceResponse
from pyk.runtime.system_clock import SystemClock

log = logging.getLogger(__name__)

Answered = ProduceResponse | AllWritten | None
TASK = "send batches"


class Sender:
    """Drives a :class:`SendPlanner`: a turn whenever there is something to do, and no task for it.

    A turn is due when the accumulator says so, when a time has come that the last turn named, and
    after a response if anything is left to be sent. ``thread`` drives the loop if ``send`` runs in
    other threads. ``identity`` asks brokers what the planner's policy needs.
    """

    def __init__(  # noqa: PLR0917 - its parts
        self,
        client: Client,
        config: ProducerConfig,
        accumulator: RecordAccumulator,
        planner: SendPlanner,
        thread: LoopThread | None = None,
        identity: IdentityAsker | None = None,
    ) -> None:
        self._client = client
        self._clock = client.clock
        # Known by its type, it is asked without a Python call.
        self._system_clock = client.clock if isinstance(client.clock, SystemClock) else None
        self._is_answered = config.acks != 0
        self._lingers = config.linger_ms > 0
        self._accumulator = accumulator
        self._drain = accumulator.drain
        self._planner = planner
        self._metadata = client.metadata
        self._turn = ScheduledTurn(self.take_turn)
        self.identity = identity or IdentityDriver(
            planner.identity, client, self._refused, self.wake
        )
        self._thread = thread
        # What visitors call, bound once.
        self._visits = self.visit, self.wake
        self._is_stopped = False
        self._is_visited = False
        self._is_busy = False
        self._when_idle: Callable[[], object] | None = None
        self.delivered_records = 0
        self.failed_records = 0

    def start(self) -> None:
        """Begin, and get a producer id before the first record needs it."""
        self._metadata = self._client.metadata
        self._turn.start()
        self._turn.request()
        self.identity.ask_soon()

    def use(self, image: MetadataImage) -> None:
        """Send to the leaders of this metadata image from now on. On the loop only."""
        self._metadata = image
        self._turn.request()

    def wake(self) -> None:
        """Look for batches to send soon. On the loop only."""
        self._turn.request()

    def wake_for_records(self) -> None:
        """Send what is due: at once if nothing is in flight, otherwise soon, with what comes until
        then.

        A full batch, from a loop over ``send``, is left to a turn of the event loop: compressing
        and writing it is worth the switch to the background thread, if there is one.
        """
        hurries = not (self._lingers or self._drain.has_full_batches())
        if self._thread is not None:
            visit, wake = self._visits
            self._thread.visit(visit if hurries else wake)
        elif not hurries or self._is_busy or not self._turn.is_started() or self._planner.is_busy():
            self._turn.request()
        else:
            self._visit()

    def visit(self) -> None:
        """Send what is due, as a visitor: no callback of the application runs meanwhile."""
        self._visit()

    def take_turn(self) -> None:
        """Send what is due. On the loop only."""
        self._take_turn()

    def call_when_idle(self, notify: Callable[[], object]) -> None:
        """Call ``notify`` once no request is in flight, perhaps at once. On the loop only."""
        is_busy = self._planner.is_busy()
        self._when_idle = notify if is_busy else None
        if not is_busy:
            notify()

    def stop(self, error: KafkaError) -> None:
        """Send nothing more, and give up every record that is not settled."""
        self._is_stopped = True
        self._turn.stop()
        self._settle(self._planner.abandon(error))

    def _refused(self, error: KafkaError) -> None:
        """Fail the batches that need the producer id that a broker refused."""
        self._settle(self._planner.producer_id_refused(error))

    def _visit(self) -> None:
        self._is_visited = True
        try:
            self._take_turn()
        finally:
            self._is_visited = False

    def _take_turn(self) -> None:
        if self._is_stopped:
            return
        was_busy, self._is_busy = self._is_busy, True
        try:
            self._turn.request_at(self._act(self._now()))
        except Exception as bug:
            self._fail(bug)
        finally:
            self._is_busy = was_busy

    def _fail(self, bug: Exception) -> None:
        """Fail all records after a bug in pyk: otherwise their callers would wait for ever."""
        self._client.supervisor.failed(TASK, bug)
        failure = StateError(f"the producer failed because of a bug in pyk: {bug!r}")
        self._accumulator.admission.refuse(failure)
        self.stop(failure)

    def _now(self) -> float:
        if self._system_clock is not None:
            return self._system_clock.now()
        return self._clock.now()

    def _act(self, now: float) -> float:
        plan = self._planner.poll(now, self._metadata)
        self._settle(plan.settled)
        for call in plan.calls:
            try:
                self._submit(call)
            except KafkaError as error:
                self._ended(call, None, error)
        if plan.needs_metadata:
            self._client.metadata_keeper.request_update()
        if plan.needs_producer_id:
            self.identity.ask_soon()
        return plan.look_again_at

    def _submit(self, call: ProduceCall) -> None:
        client, node_id = self._client, call.node.node_id
        waiter = _new_waiter(self, call)
        if self._is_answered:
            client.submit(node_id, call, waiter, None, call.within)
        else:
            # There are no responses, so only the socket tells when it is too much.
            sending = _send_unanswered(client, call)
            task = client.supervisor.spawn(f"produce to node {node_id}", sending)
            task.add_done_callback(waiter.sent)

    def _ended(self, call: ProduceCall, response: Answered, error: Exception | None) -> None:
        """Tell the planner how a call ended, and do what follows."""
        if self._is_stopped:
            return  # its records have failed already
        now = self._now()
        was_busy, self._is_busy = self._is_busy, True
        try:
            if error is None:
                effects = self._planner.answered(call, response, now)
            else:
                effects = self._planner.failed(call, _as_kafka_error(error), now)
            self._follow(effects, response)
        except Exception as bug:
            self._fail(bug)
        finally:
            self._is_busy = was_busy
        if self._when_idle is not None:
            self.call_when_idle(self._when_idle)

    def _follow(self, effects: ResponseEffects, response: Answered) -> None:
        self._settle(effects.settled)
        if effects.leaders and isinstance(response, ProduceResponse):
            leaders, ends = effects.leaders, response.node_endpoints
            self._planner.leaders_moved(self._client.metadata_keeper.update_leaders(leaders, ends))
        elif effects.needs_metadata:
            self._client.metadata_keeper.request_update()
        if self._drain.has_unfinished():
            self._turn.request()

    def _settle(self, settled: list[ProducerBatch]) -> None:
        if not settled:
            return
        if self._is_visited:
            asyncio.get_running_loop().call_soon(self.hand_out, settled)
        else:
            self._hand_out(settled)

    def hand_out(self, settled: list[ProducerBatch]) -> None:
        """Settle batches: wake the threads that wait for them and run delivery callbacks."""
        self._hand_out(settled)

    def _hand_out(self, settled: list[ProducerBatch]) -> None:
        for batch in settled:
            self._drain.release(batch)
            if batch.error is None:
                self.delivered_records += batch.count
            else:
                self.failed_records += batch.count
            batch.hand_out()


class ProduceWaiter:
    """Takes the outcome of one call, instead of a future."""

    __slots__ = ("_call", "_is_done", "_sender")

    _sender: Sender
    _call: ProduceCall
    _is_done: bool

    def done(self) -> bool:
        return self._is_done

    def set_result(self, response: Answered, /) -> None:
        self._is_done = True
        self._sender._ended(self._call, response, None)

    def set_exception(self, error: Exception, /) -> None:
        self._is_done = True
        self._sender._ended(self._call, None, error)

    def sent(self, sending: asyncio.Task[KafkaError | None]) -> None:
        """Take the end of a call without a response."""
        if sending.cancelled():
            return  # cancelled together with the client
        error = sending.exception() or sending.result()
        if error is None:
            self.set_result(None)
        elif isinstance(error, Exception):
            self.set_exception(error)


async def _send_unanswered(client: Client, call: ProduceCall) -> KafkaError | None:
    """Send a request with acks 0; return what kept it from being sent.

    It is not raised: a task that raises has met a bug in pyk, which ends the client.
    """
    try:
        await client.send(call.node.node_id, call, max_version=call.within.highest)
    except KafkaError as error:
        return error
    return None


def _new_waiter(sender: Sender, call: ProduceCall) -> ProduceWaiter:
    """Return the waiter for the outcome; compiled, no arguments are parsed on the way."""
    waiter = ProduceWaiter.__new__(ProduceWaiter)
    waiter._sender = sender
    waiter._call = call
    waiter._is_done = False
    return waiter


def _as_kafka_error(error: BaseException) -> KafkaError:
    """Return an error as callers of a producer know them; any other one is a bug in pyk."""
    if isinstance(error, KafkaError):
        return error
    log.error("A produce request failed because of a bug in pyk", exc_info=error)
    return StateError(
        f"a produce request failed because of a bug in pyk: {error!r}", definite=False
    )
