"""The fetch session with one node (KIP-227): tell only what changed since the last fetch. Pure.

The node remembers the partitions of a session and where each is to be read from. Epoch 0 opens a
session and names all partitions; each later request counts the epoch up and names those that are
new, changed, or to be forgotten. A node that keeps no session answers session id 0, and every
request is then complete. After any doubt about the node's memory, a new session is opened.
"""

from __future__ import annotations

from uuid import UUID

from pyk.clients.consumer.fetching.fetch_call import FetchCall, FetchTerms, Wanted, new_call
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.fetch import FetchResponse
from pyk.protocol.schema import ZERO_UUID

NONE = ErrorCode.NONE
NO_SESSION = 0
OPENING_EPOCH = 0
MAX_EPOCH = 2**31 - 1
# Fetch names topics by id from version 13 on.
LAST_VERSION_WITH_TOPIC_NAMES = 12


class FetchSession:
    """The state of one node's fetch session, as the node knows it."""

    def __init__(self, terms: FetchTerms) -> None:
        self._terms = terms
        self._session_id = NO_SESSION
        self._epoch = OPENING_EPOCH
        self._told: Wanted = {}
        # By the number of the topic's id: UUID hashes itself with a Python function.
        self._names: dict[int, str] = {}
        self.uses_topic_ids = True
        """Whether every requested partition has a topic id, so that no names are needed."""

    def request(self, wanted: Wanted, max_wait_ms: int, max_bytes: int) -> FetchCall:
        """Return the request that fetches exactly ``wanted``; the session remembers it.

        In a complete request the partitions are read in this order until ``max_bytes``.
        """
        changed, known = self._changes(wanted)
        call = new_call(self._terms, self._session_id, self._epoch, max_wait_ms, max_bytes, changed)
        if known < len(self._told):
            call.forgotten = {p: how for p, how in self._told.items() if p not in wanted}
        if known < len(wanted) or call.forgotten:
            self._names = {how.topic_id.int: partition[0] for partition, how in wanted.items()}
            self.uses_topic_ids = ZERO_UUID.int not in self._names
        self._told = wanted
        return call

    def answered(self, response: FetchResponse) -> ErrorCode:
        """Update the session from a response; if its code is not NONE, it has no partitions to
        read."""
        code = ErrorCode(response.error_code) if response.error_code else NONE
        session_id = response.session_id
        if code is not NONE or session_id == NO_SESSION:
            self.reset()
        elif self._session_id in (NO_SESSION, session_id):
            self._session_id = session_id
            self._epoch = self._epoch + 1 if self._epoch < MAX_EPOCH else 1
        else:
            self.reset()  # the node answers for a session of another client
        return code

    def reset(self) -> None:
        """Tell everything again with the next request."""
        self._session_id = NO_SESSION
        self._epoch = OPENING_EPOCH
        self._told = {}

    def name_of(self, topic_id: UUID) -> str | None:
        """Return the topic of a requested id."""
        return self._names.get(topic_id.int)

    def _changes(self, wanted: Wanted) -> tuple[Wanted, int]:
        """Return the changes to tell the node, and how many partitions it knows."""
        changed: Wanted = {}
        known = 0
        for partition, how in wanted.items():
            told = self._told.get(partition)
            if told is None:
                changed[partition] = how
                continue
            if not how.is_of_topic(told.topic_id):
                self.reset()
                return wanted, 0
            known += 1
            if not how.is_told(told):
                changed[partition] = how
        return changed, known


def rotated(wanted: Wanted, turn: int) -> Wanted:
    """Return the partitions, beginning with another one each time: the last may get no bytes."""
    if len(wanted) < 2:
        return wanted
    ordered = list(wanted.items())
    start = turn % len(ordered)
    return dict(ordered[start:] + ordered[:start])
