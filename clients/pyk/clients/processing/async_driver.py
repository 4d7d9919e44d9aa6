"""Run handlers in tasks: ``AsyncConsumer.process``."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from pyk.clients.consumer.buffer.read_buffer import PROCESS_ENDS, WAKEUP
from pyk.clients.errors import ClosedError, WakeupError
from pyk.clients.processing.attempt import RUNNING
from pyk.clients.processing.calls import (
    cancelled_elsewhere,
    described,
    is_of_no_account,
    note_origin,
    overdue,
)
from pyk.clients.processing.handler_checks import check_nothing_returned
from pyk.clients.processing.jobs import Job, Jobs
from pyk.clients.processing.options import HandlerOptions
from pyk.clients.processing.results import results_of
from pyk.clients.processing.session import HandlerSession
from pyk.clients.processing.session_role import LAST_COMMIT_SECONDS, LAST_SECONDS, Session
from pyk.clients.processing.workers import Workers
from pyk.clients.producer import AsyncProducer

if TYPE_CHECKING:
    from pyk.clients.consumer.faces.async_consumer import AsyncConsumer

log = logging.getLogger(__name__)

# A worker whose handlers never wait lets other tasks run after so many records.
TURN = 64


async def process_in_tasks(
    consumer: AsyncConsumer[Any, Any], handler: Callable[[Any], object], **options: Any
) -> None:
    """Do what :meth:`AsyncConsumer.process` says."""
    config = consumer._core.config
    checked = HandlerOptions.checked(handler, kind=AsyncProducer, config=config, **options)
    await TaskRunner(consumer, checked).run()


class TaskRunner:
    """Runs the handlers of one ``process()`` in tasks of the consumer's event loop."""

    def __init__(
        self,
        consumer: Any,
        options: HandlerOptions,
        session: Callable[..., Session] = HandlerSession,
    ) -> None:
        self._consumer = consumer
        self._core = consumer._core
        self._options = options
        self._only_calls = options.is_simple and options.deadline is None
        self._jobs = Jobs(options.ordering, options.concurrency)
        self._session = session(self._core, self._jobs, self, contextlib.nullcontext(), options)
        self._workers = Workers(self._jobs, options.concurrency, self._run_jobs, self.fail)
        self._failure: BaseException | None = None
        self._has_ended = False

    async def run(self) -> None:
        """Handle records until the consumer is closed or woken up, or a handler fails."""
        self._consumer._begin_process()
        try:
            await self._run()
        finally:
            self._consumer._end_process()

    async def _run(self) -> None:
        await self._session.begin()
        self._consumer._handlers = self._session.releases
        patience = 0.0
        try:
            patience = await self._read()
        finally:
            self._jobs.is_stopping = True
            try:
                await self._workers.stop(patience)
            finally:  # also if the call is cancelled while its handlers finish
                self._has_ended = True
                self._core.buffer.clear_attention(PROCESS_ENDS)
                self._consumer._handlers = None
                await self._session.end(min(patience, LAST_COMMIT_SECONDS) or LAST_SECONDS)
        if self._failure is not None:
            self._core.buffer.clear_attention(WAKEUP)
            raise self._failure

    async def _read(self) -> float:
        """Read until there is a reason to end; return how many seconds handlers may still take."""
        while True:
            try:
                await self._read_on()
            except ClosedError:
                return 0.0
            except WakeupError:
                return self._session.last_patience
            except Exception as error:
                if not self._session.goes_on_after(error):
                    self._failure = self._failure or error
                    return self._session.last_patience

    async def _read_on(self) -> None:
        limit, jobs = self._core.limits.poll_records(None), self._jobs
        while True:
            spans, _ = await self._consumer._take(limit, None)
            self._core.reader.is_under_way = False
            before = jobs.ready_count
            self._session.follow_pauses(self._session.add(spans))
            self._workers.jobs_came(jobs.ready_count - before)

    # -- workers -----------------------------------------------------------------------------------

    def wake(self) -> None:
        """Run what is ready soon."""
        self._workers.look_soon()

    def fail(self, error: BaseException) -> None:
        """End the call with an error, the first one that there is."""
        if self._has_ended:
            log.error("A handler failed after process() has ended", exc_info=error)
            return
        self._failure = self._failure or error
        self._jobs.is_stopping = True
        self._core.buffer.call_attention(PROCESS_ENDS)

    async def _run_jobs(self) -> None:
        """Run one job after the other until none is ready."""
        jobs, worker, count = self._jobs, asyncio.current_task(), 0
        take = jobs.next if self._options.batch_size is None else self._session.next_job
        while (job := take()) is not None:
            job.worker = worker
            try:
                if self._only_calls:
                    wait = None
                    returned = self._call_handler(job)
                    if returned is not None and inspect.isawaitable(returned):
                        returned = await returned
                    check_nothing_returned(returned)
                else:
                    wait = await self._attempt(job)
            except Exception as error:
                if is_of_no_account(error, job):
                    log.info("Too late, handling %s failed: %r", described(job), error)
                    continue
                note_origin(error, job)
                raise
            except asyncio.CancelledError as error:
                if self._jobs.is_stopping or job.partition.is_cancelled:
                    raise
                failure = cancelled_elsewhere()
                note_origin(failure, job)
                raise failure from error
            finally:
                job.worker = None  # which would keep both alive: the worker remembers the job
                job.partition.running.discard(job)
                if job.partition.is_closing:
                    self._session.job_stopped()
            self._attempted(job, wait)
            count += 1
            if count % TURN == 0:
                await asyncio.sleep(0)

    def _attempted(self, job: Job, wait: float | None) -> None:
        """Finish a job, or let it run again after so many seconds."""
        if wait is not None:
            self._session.delays.call_again(job, wait)
            return
        is_batch = bool(job.mates)
        if self._session.handler_done(job):
            self._session.follow_pauses((job.partition,))
        if is_batch:  # the next jobs of many lanes may be ready now
            self.wake()

    async def _attempt(self, job: Job) -> float | None:
        """Call the handler once, if it is time; return the seconds until it has to be called again,
        None if the job is finished."""
        recovery = self._session.recovery
        wait = recovery.seconds_until_due(job)
        if wait:
            return wait
        results = self._session.results
        try:
            returned = await self._returned(job)
            if results is not None:
                job.results = results_of(returned)
                if not results.is_transactional:
                    await results.write(job)
        except Exception as error:
            if not self._options.recovers or is_of_no_account(error, job):
                raise
            return await recovery.recover(job, error)
        except asyncio.CancelledError:
            if not self._options.recovers or job.worker.cancelling():
                raise
            return await recovery.recover(job, cancelled_elsewhere())
        # The same for every record, so neither retries nor dead letters are of use.
        if results is None:
            check_nothing_returned(returned)
        return None

    async def _returned(self, job: Job) -> Any:
        """Return what the handler returns, within its deadline."""
        seconds = self._options.deadline
        if seconds is None:
            returned = self._call_handler(job)
            return await returned if inspect.isawaitable(returned) else returned
        try:
            async with asyncio.timeout(seconds) as scope:
                returned = self._call_handler(job)
                return await returned if inspect.isawaitable(returned) else returned
        except TimeoutError as error:
            if scope.expired():
                raise overdue(seconds) from error
            raise

    def _call_handler(self, job: Job) -> Any:
        """Call the handler; return what it returns: a coroutine, unless it is a plain function."""
        RUNNING.set(job)
        job.attempts += 1
        job.was_told_to_stop = False
        return self._options.handler(self._session.record_of(job))

    def cancel(self, jobs: Collection[Job]) -> None:
        """Cancel the tasks in which jobs run."""
        for job in jobs:
            job.worker.cancel()
