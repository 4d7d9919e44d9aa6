"""Run handlers in threads: ``Consumer.process``.

The thread that calls ``process`` polls; worker threads take one job after the other. They are
started as they are needed, and end with the call. A thread cannot be cancelled: its handler is
told by :func:`current_attempt`, and what it finishes too late is not committed.
"""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from pyk.clients.consumer.buffer.read_buffer import PROCESS_ENDS, WAKEUP
from pyk.clients.errors import ClosedError, WakeupError
from pyk.clients.processing.attempt import RUNNING
from pyk.clients.processing.calls import (
    check_deadline,
    described,
    is_of_no_account,
    note_origin,
    overdue_after,
)
from pyk.clients.processing.handler_checks import check_nothing_returned
from pyk.clients.processing.jobs import Job, Jobs
from pyk.clients.processing.options import HandlerOptions
from pyk.clients.processing.results import results_of
from pyk.clients.processing.session import HandlerSession
from pyk.clients.processing.session_role import LAST_COMMIT_SECONDS, LAST_SECONDS, Session
from pyk.clients.producer import Producer
from pyk.clients.wording import counted

if TYPE_CHECKING:
    from pyk.clients.consumer.faces.consumer import Consumer

log = logging.getLogger(__name__)


def process_in_threads(
    consumer: Consumer[Any, Any], handler: Callable[[Any], object], **options: Any
) -> None:
    """Do what :meth:`Consumer.process` says."""
    config = consumer._core.config
    checked = HandlerOptions.checked(handler, kind=Producer, config=config, **options)
    ThreadRunner(consumer, checked).run()


class ThreadRunner:
    """Runs the handlers of one ``process()`` in threads.

    ``_changed`` guards the jobs and the counts of workers; its waiters wait for jobs, or for the
    end of workers.
    """

    def __init__(
        self,
        consumer: Any,
        options: HandlerOptions,
        session: Callable[..., Session] = HandlerSession,
    ) -> None:
        if inspect.iscoroutinefunction(options.handler):
            raise TypeError(
                "handler must not be an async function: a blocking consumer cannot await it; "
                f"use Async{type(consumer).__name__}"
            )
        self._consumer = consumer
        self._core = consumer._core
        self._options = options
        self._changed = threading.Condition()
        self._jobs = Jobs(options.ordering, options.concurrency)
        self._session = session(self._core, self._jobs, self, self._changed, options)
        self._workers = 0
        self._idle_workers = 0
        self._failure: BaseException | None = None
        self._user: threading.Thread | None = None
        """The thread of the call, unless the consumer was in use."""
        self._patience = 0.0
        """Seconds that handlers may take to finish when the call ends."""
        self._has_ended = False
        self._session_ends = False

    def run(self) -> None:
        """Handle records until the consumer is closed or woken up, or a handler fails."""
        if self._consumer._processor is None:
            self._user = threading.current_thread()
        try:
            try:
                self._consumer._begin_process()
                self._consumer._thread.call(self._session.begin())
                self._consumer._handlers = self._session.releases
                self._patience = self._read()
            finally:
                self._end()
        finally:  # a signal may have interrupted that at any point
            self._end()
        if self._failure is not None:
            self._core.buffer.clear_attention(WAKEUP)
            raise self._failure

    def _end(self) -> None:
        """Leave the consumer as it was, unless that is done or another call is in progress."""
        if self._user is None or self._consumer._processor is not self._user:
            return
        if not self._session_ends:
            patience, self._patience = self._patience, 0.0  # once only
            self._stop_workers(patience)
            self._has_ended = True
            self._core.buffer.clear_attention(PROCESS_ENDS)
            self._consumer._handlers = None
            if not self._core.is_closed:
                seconds = min(patience, LAST_COMMIT_SECONDS) or LAST_SECONDS
                self._consumer._thread.call(self._end_session(seconds))
        self._consumer._end_process()

    async def _end_session(self, seconds: float) -> None:
        """End the session. A call that a signal interrupts may not even come here."""
        self._session_ends = True
        await self._session.end(seconds)

    def _read(self) -> float:
        """Read until there is a reason to end; return how many seconds handlers may still take."""
        while True:
            try:
                self._read_on()
            except ClosedError:
                return 0.0
            except WakeupError:
                return self._session.last_patience
            except Exception as error:
                if not self._session.goes_on_after(error):
                    self._failure = self._failure or error
                    return self._session.last_patience

    def _read_on(self) -> None:
        limit = self._core.limits.poll_records(None)
        while True:
            spans, _ = self._consumer._take(limit, None)
            self._core.reader.is_under_way = False
            full = self._session.add(spans)
            if full:
                self._consumer._now_on_loop(self._session.follow_pauses, full)
            self._start_workers()

    # -- workers -----------------------------------------------------------------------------------

    def _start_workers(self) -> None:
        with self._changed:
            ready = self._jobs.ready_count
            self._changed.notify(ready)
            room = self._options.concurrency - self._workers
            missing = min(room, ready - self._idle_workers)
            for _ in range(missing):
                self._workers += 1
                threading.Thread(target=self._work, name="pyk-handler", daemon=True).start()

    def wake(self) -> None:
        """Run what is ready now."""
        self._start_workers()

    def _work(self) -> None:
        try:
            while (job := self._wait_for_job()) is not None:
                try:
                    wait = self._attempt(job)
                except BaseException as error:
                    self._stopped(job, is_done=False)
                    if is_of_no_account(error, job):
                        log.info("Too late, handling %s failed: %r", described(job), error)
                        continue
                    note_origin(error, job)
                    raise
                self._stopped(job, is_done=wait is None)
                if wait is not None:
                    self._core.call_soon(self._session.delays.call_again, job, wait)
        except BaseException as error:  # the caller of process() gets it
            self.fail(error)
        finally:
            with self._changed:
                self._workers -= 1
                self._changed.notify_all()

    def _wait_for_job(self) -> Job | None:
        """Return the next job, None when there will be no more."""
        with self._changed:
            while (job := self._session.next_job()) is None and not self._jobs.is_stopping:
                self._idle_workers += 1
                self._changed.wait()
                self._idle_workers -= 1
            return job

    def _attempt(self, job: Job) -> float | None:
        """Call the handler once, if it is time; return the seconds until it has to be called again,
        None if the job is finished."""
        recovery = self._session.recovery
        wait = recovery.seconds_until_due(job)
        if wait:
            return wait
        job.attempts += 1
        job.was_told_to_stop = False
        job.is_overdue = overdue_after(self._options.deadline, self._core.client.clock.now)
        RUNNING.set(job)
        try:
            returned = self._options.handler(self._session.record_of(job))
            check_deadline(job, self._options.deadline)
            self._take(job, returned)
        except Exception as error:
            if not self._options.recovers or is_of_no_account(error, job):
                raise
            again: float | None = self._consumer._thread.call(recovery.recover(job, error))
            return again
        # The same for every record, so neither retries nor dead letters are of use.
        if self._session.results is None:
            check_nothing_returned(returned)
        return None

    def _take(self, job: Job, returned: object) -> None:
        """Take what the handler has returned: results, if there is a producer for them."""
        results = self._session.results
        if results is not None:
            job.results = results_of(returned)
            if not results.is_transactional:
                results.write_blocking(job)

    def _stopped(self, job: Job, *, is_done: bool) -> None:
        """Record that a job does not run any more. At one time, as a rebalance waits for that, and
        then commits what is finished."""
        is_resumed = False
        with self._changed:
            job.partition.running.discard(job)
            is_closing = job.partition.is_closing
            if is_done:
                ready = self._jobs.ready_count
                is_resumed = self._session.handler_done(job)
                if ready:
                    self._changed.notify()
        if is_resumed:
            self._core.call_soon(self._session.follow_pauses, (job.partition,))
        if is_closing:
            self._core.call_soon(self._session.job_stopped)

    def fail(self, error: BaseException) -> None:
        """End the call with an error, the first one that there is."""
        if self._has_ended:
            log.error("A handler failed after process() has ended", exc_info=error)
            return
        with self._changed:
            self._failure = self._failure or error
            self._jobs.is_stopping = True
            self._changed.notify_all()
        self._core.buffer.call_attention(PROCESS_ENDS)

    def cancel(self, jobs: Collection[Job]) -> None:
        """Do nothing: the handlers are told by the state of their partitions."""

    def _stop_workers(self, patience: float) -> None:
        """Let the workers finish what they are at for so many seconds, then leave them alone."""
        with self._changed:
            self._jobs.is_stopping = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._workers, timeout=patience)
            left = self._workers
        if left:
            log.warning("%s still running after process() has ended", counted(left, "handler"))
