"""Errors that the clients find by themselves, without a response of a broker."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Self

from pyk.clients.errors.base import KafkaError, KafkaTimeoutError
from pyk.clients.errors.cluster import NetworkError
from pyk.runtime import slotted


class ConfigurationError(KafkaError, ValueError):
    """An option is unknown, out of range, or does not fit another one."""


class SerializationError(KafkaError, ValueError):
    """A serializer or deserializer refused a key or a value."""


class StateError(KafkaError, RuntimeError):
    """The call does not fit the state of the client; the program has to change."""


class ClosedError(StateError):
    """The client is closed, or was never started."""


class ForkedClientError(StateError):
    """The client was made before this process was forked off: its connections are the parent's."""


class TooManyOpenFilesError(KafkaError, OSError):
    """The client cannot start because the process has no file descriptor left."""


class TransactionAbortedError(KafkaError):
    """The record was not sent, because its transaction was aborted before (KIP-654)."""


class PreparedTransactionEndedError(KafkaError):
    """A prepared transaction has ended otherwise, or so long ago that its producer has gone on.

    It timed out, somebody else has ended it, or the next transaction has begun since.
    """


class BufferExhaustedError(KafkaTimeoutError):
    """The producer's buffer stayed full for all of ``max_block_ms``; the record was not taken."""

    definite = True


class NodeDisconnectedError(NetworkError):
    """The connection ended with the request in flight, which may have been applied."""


class MalformedResponseError(KafkaError):
    """A broker's response breaks the protocol, and its connection was closed.

    The request may have been applied.
    """

    retriable = True
    definite = False


class Stage(enum.Enum):
    """The step at which an attempt to reach a broker failed."""

    PROXY = "proxy"
    DNS = "DNS"
    TCP = "TCP"
    TLS = "TLS"
    API_VERSIONS = "ApiVersions"
    SASL = "SASL"
    METADATA = "Metadata"


@slotted.frozen
class ConnectionAttempt:
    """One attempt to reach one address."""

    server: str
    """The name as configured, ``host:port``."""
    address: str | None
    """The address that was connected to, of the proxy if there is one; None if no name resolved."""
    stage: Stage
    """The step that failed."""
    cause: str
    hint: str = ""
    """The advice what to check first, empty if the cause says it."""
    proxy: str = ""
    """The proxy, without user name and password; empty if there is none."""

    @property
    def failure(self) -> str:
        """Return what happened, without the name as configured."""
        at = f" at {self.address}" if self.address not in (None, self.server) else ""
        hint = f"; {self.hint}" if self.hint else ""
        through = "" if self.stage is Stage.PROXY else " through"
        proxy = f"{through} {self.proxy}" if self.proxy else ""
        return f"{self.stage.value}{proxy}{at}: {self.cause}{hint}"

    def __str__(self) -> str:
        return f"{self.server}: {self.failure}"


class NodeUnavailableError(NetworkError):
    """Connecting to a broker failed; the request never left, so it was not applied.

    ``attempts`` says how far each of its addresses came.
    """

    definite = True

    def __init__(
        self,
        message: str = "",
        *,
        node_id: int | None = None,
        attempts: Iterable[ConnectionAttempt] = (),
    ) -> None:
        super().__init__(message, node_id=node_id)
        self.attempts = tuple(attempts)


class BootstrapError(KafkaError, ConnectionError):
    """No bootstrap server led to the cluster. ``attempts`` says how far each address came."""

    retriable = True

    def __init__(self, message: str, *, attempts: Iterable[ConnectionAttempt] = ()) -> None:
        super().__init__(message)
        self.attempts = tuple(attempts)

    def __str__(self) -> str:
        return "\n".join([str(self.args[0]), *(f"  {attempt}" for attempt in self.attempts)])


ERRORS_NAMED = 10
"""A call may be about thousands of things, and its error still has to fit on a screen."""


class SeveralErrors(ExceptionGroup[KafkaError], KafkaError):  # noqa: N818 - it is not one error
    """Some items of a call about several failed, each with its own error.

    ``errors`` says what failed and why, ``results`` what succeeded. It is an exception group, which
    ``except*`` takes apart, and a :class:`KafkaError`, which ``except`` catches with the others. A
    call about one thing raises that one's error instead.
    """

    errors: Mapping[Any, KafkaError]
    results: Mapping[Any, Any]

    def __new__(
        cls, message: str, errors: Mapping[Any, KafkaError], results: Mapping[Any, Any]
    ) -> Self:
        return super().__new__(cls, message, list(errors.values()))

    def __init__(
        self, message: str, errors: Mapping[Any, KafkaError], results: Mapping[Any, Any]
    ) -> None:
        KafkaError.__init__(self, message)
        self.args = (message, errors, results)  # from which pickle makes it again
        self.errors = dict(errors)
        self.results = dict(results)
        self.retriable = all(error.retriable for error in errors.values())
        self.definite = all(error.definite for error in errors.values())

    def __str__(self) -> str:
        named = [f"{what}: {error}" for what, error in islice(self.errors.items(), ERRORS_NAMED)]
        left = len(self.errors) - len(named)
        more = [f"and {left} more, in .errors"] if left else []
        return "; ".join([str(self.args[0]), *named, *more])

    def derive(self, excs: Sequence[Any], /) -> SeveralErrors:  # type: ignore[override]
        """Return the same about some of the errors only, for ``except*``."""
        chosen = set(map(id, excs))
        some = {what: error for what, error in self.errors.items() if id(error) in chosen}
        return SeveralErrors(self.args[0], some, self.results)
