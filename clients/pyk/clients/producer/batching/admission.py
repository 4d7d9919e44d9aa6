"""Whether records are taken at the moment, and if not, why.

A producer with transactions takes records in *terms*: one for each transaction. A ``send`` that
waits for room or metadata belongs to the term in which it was called. If the term is over when the
wait ends, the record is refused: it must not slip into the next transaction. And a transaction
must not be committed without a record that was sent in it. So a ``send`` that fails, and one that
still waits when its term ends, is the ``failure`` of the term, and nothing more is taken in it.
"""

from __future__ import annotations

from pyk.clients.errors import KafkaError, StateError, TransactionAbortableError
from pyk.clients.errors.base import copy_to_raise
from pyk.clients.producer.batching.budget import BufferBudget
from pyk.clients.producer.batching.buffer_waits import call_all
from pyk.clients.producer.batching.mutex import Mutex
from pyk.clients.wording import counted

NO_TERM = 0
"""The term of a producer without transactions: sends that fail concern no other."""


class Admission:
    """Takes or refuses records. Any thread may call; ``mutex`` is the accumulator's."""

    def __init__(self, budget: BufferBudget, mutex: Mutex) -> None:
        self.mutex = mutex
        self.refusal: KafkaError | None = None
        """Why nothing is taken, for now or any more."""
        self.is_ended = False
        """Whether nothing is taken any more."""
        self.term = NO_TERM
        self.failure: KafkaError | None = None
        """Why the records of this term are not complete."""
        self._waiting = 0
        self._budget = budget

    def refuse(self, error: KafkaError) -> None:
        """Take nothing from now on: raise ``error`` in new calls, and in those that wait for
        room."""
        self._refuse(error, True)

    def refuse_for_now(self, error: KafkaError) -> None:
        """Refuse records until :meth:`begin_term`; do nothing after :meth:`refuse`."""
        if not self.is_ended:
            self._refuse(error, False)

    def begin_term(self) -> None:
        """Take the records of the next transaction."""
        self.mutex.check()
        try:
            self.mutex.acquire()
            self.term += 1
            self._waiting = 0
            self.failure = None
            if not self.is_ended:
                self.refusal = None
        finally:
            self.mutex.release()

    def check(self) -> None:
        """Raise why nothing is taken, before a caller waits for what a record needs."""
        if self.refusal is not None:
            raise copy_to_raise(self.refusal)

    def check_term(self, term: int) -> None:
        """Raise if the term of a record is over."""
        if term != self.term:
            raise StateError(
                "the record was sent in a transaction that has ended while it waited for metadata "
                "or room"
            )

    def enter(self, term: int) -> None:
        """Count a ``send`` that may have to wait; :meth:`leave` ends it. Raises what refuses it."""
        self.mutex.check()
        try:
            self.mutex.acquire()
            self.check()
            self.check_term(term)
            self._waiting += 1
        finally:
            self.mutex.release()

    def leave(self, term: int) -> None:
        """End the wait of a ``send``."""
        self.mutex.check()
        try:
            self.mutex.acquire()
            if term == self.term:
                self._waiting -= 1
        finally:
            self.mutex.release()

    def failed(self, error: KafkaError, term: int) -> None:
        """Refuse the rest of a transaction of which a record could not be taken."""
        self.mutex.check()
        try:
            self.mutex.acquire()
            if term == NO_TERM or term != self.term or self.refusal is not None:
                return
            self.refusal = self.failure = TransactionAbortableError.because_of(error)
            wakes = self._budget.dismiss()
        finally:
            self.mutex.release()
        call_all(wakes)

    def _refuse(self, error: KafkaError, is_end: bool) -> None:
        self.mutex.check()
        try:
            self.mutex.acquire()
            if self.is_ended and not is_end:
                return
            if self.refusal is None and self._waiting and self.term != NO_TERM:
                self.failure = TransactionAbortableError.because_of(
                    StateError(
                        f"{counted(self._waiting, 'send')} still waited for metadata or room when "
                        "it was to end: wait for each send first"
                    )
                )
            self.is_ended = is_end
            self.refusal = error
            wakes = self._budget.dismiss()
        finally:
            self.mutex.release()
        call_all(wakes)
