"""Connect to a broker: resolve its name, open a socket, negotiate versions; report the progress."""

from __future__ import annotations

import asyncio
import logging
import random as randomness
import sys
from typing import TYPE_CHECKING

from pyk.clients.config import ClientConfig
from pyk.clients.engine import open_files
from pyk.clients.engine.connection import NEVER, Connection, new_pending
from pyk.clients.engine.metadata import Node
from pyk.clients.engine.routes import Route, Routes
from pyk.clients.errors import (
    AuthenticationError,
    ConnectionAttempt,
    KafkaError,
    MalformedResponseError,
    NodeDisconnectedError,
    NodeUnavailableError,
    SslAuthenticationError,
    Stage,
    error_for,
)
from pyk.clients.errors.advice import CORRECT_LISTENERS, NAMED_BY_BROKER
from pyk.clients.security.exchange import Work
from pyk.clients.security.tls_failures import CERTIFICATE_HINT, CLOSED_HINT, TlsFailure, explain_tls
from pyk.clients.security.tls_settings import server_name
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from pyk.protocol.negotiation import PeerVersions, downgraded_api_versions
from pyk.protocol.version import __version__
from pyk.protocol.versions import ALL_VERSIONS
from pyk.runtime import slotted
from pyk.runtime.clock import Clock
from pyk.runtime.network import ClientTls, Network
from pyk.runtime.network.memory_addresses import refusal_hint

if TYPE_CHECKING:
    from pyk.clients.engine.authenticator import Authenticator
    from pyk.clients.security.tls import TlsContexts

log = logging.getLogger(__name__)

# Brokers since 2.4 answer this version in one round trip; later versions add nothing for clients.
FIRST_API_VERSIONS = 3
MAX_DOWNGRADES = 2
SOFTWARE_NAME = "pyk"


@slotted.define
class Progress:
    """The stage that the attempt to reach a server has come to."""

    server: str
    address: str | None = None
    stage: Stage = Stage.DNS
    is_encrypted: bool = False
    proxy: str = ""
    failures: list[ConnectionAttempt] = slotted.field(factory=list)
    """Of the addresses that were tried before."""
    has_worked: bool = False
    """Whether the server was reached before, with the same options."""
    work: Work | None = None
    """The work of the client itself that the login waits for, such as fetching a token."""

    def waits_for(self, work: Work | None) -> None:
        self.work = work

    def silent(self, timeout: float) -> ConnectionAttempt:
        """Return the attempt as one that took longer than ``timeout`` in seconds."""
        if self.work is not None:
            cause, problem = f"{NO_PROOF} within {timeout:.3g} s", self.work.problem()
            return self.failed(f"{cause}: {problem}" if problem else cause, NO_PROOF_HINT)
        return self.failed(f"no answer within {timeout:.3g} s", SILENCE[self.stage])

    def failed(self, cause: str, hint: str) -> ConnectionAttempt:
        return ConnectionAttempt(
            self.server, self.address, self.stage, cause, hint, proxy=self.proxy
        )


class Dialer:
    """Makes connections: resolve the name, connect to an address, ask for ApiVersions, log in.

    Raises :class:`ConfigurationError` for files of certificates that cannot be used.
    """

    def __init__(
        self, config: ClientConfig, clock: Clock, network: Network, random: randomness.Random
    ) -> None:
        credentials, tls = config.credentials(), config.tls_settings()
        self.authenticator: Authenticator | None = None
        self._tls: TlsContexts | None = None
        # Imported for clients that need them: others start faster without.
        if credentials is not None:
            from pyk.clients.engine.authenticator import Authenticator

            has_tls = tls is not None
            self.authenticator = Authenticator(credentials, clock, random, has_tls=has_tls)
        if tls is not None:
            from pyk.clients.security.tls import TlsContexts

            self._tls = TlsContexts(tls)
        self._config = config
        self._clock = clock
        self._network = network
        self._routes = Routes(config, network)

    async def dial(self, node: Node, timeout: float, progress: Progress) -> Connection:
        """Return a connection to a node, whose versions are known, and that is logged in.

        ``timeout`` is in seconds for each step of each address. ``progress`` follows the attempt.
        Raises :class:`NodeUnavailableError` with what happened at each address, and
        :class:`AuthenticationError` if one side does not accept the other.
        """
        attempts = progress.failures = []
        progress.proxy = str(self._config.proxy or "")
        for route in await self._routes_to(node, timeout, progress, attempts):
            progress.address, progress.stage = str(route.address), route.first_stage
            progress.work = None
            try:
                async with asyncio.timeout(timeout):
                    connection = await self._connect(node, route, progress, timeout)
            except AuthenticationError:
                raise
            except (KafkaError, OSError, ValueError) as error:
                failed = explained(progress, error, timeout)
                failure = _tls_failure(error)
                if failure is not None and failure.is_refusal:
                    text = f"cannot connect to {node}: {failed.failure}"
                    refusal = SslAuthenticationError(text, node_id=node.node_id)
                    refusal.advice = failed.hint
                    raise refusal from error
                attempts.append(failed)
                continue
            self._routes.worked(node, route)
            log.debug("Connected to %s", node)
            return connection
        raise unavailable(node, attempts, self._hint(node))

    def _hint(self, node: Node) -> str:
        """Return a hint for an address that a broker named and that is not configured."""
        is_configured = any(
            (server.host, server.port) == (node.host, node.port)
            for server in self._config.bootstrap_servers
        )
        return "" if node.node_id < 0 or is_configured else ADVERTISED

    async def _routes_to(
        self, node: Node, timeout: float, progress: Progress, attempts: list[ConnectionAttempt]
    ) -> list[Route]:
        """Return the ways to a node, first the one that worked last time."""
        try:
            async with asyncio.timeout(timeout):
                return await self._routes.to(node, progress)
        # ValueError: a name that IDNA cannot encode. RuntimeError: the program is ending, and no
        # thread can be started to look names up.
        except (OSError, ValueError, RuntimeError) as error:
            attempts.append(explained(progress, error, timeout))
            return []

    async def _connect(
        self, node: Node, route: Route, progress: Progress, timeout: float
    ) -> Connection:
        connection = Connection(
            slotted.evolve(node, host=route.host),  # which tickets of Kerberos name, too
            self._clock,
            client_id=self._config.client_id,
            max_response_bytes=self._config.max_response_bytes,
        )
        try:
            tls, tunnel = self._tls_for(route.host, progress), route.tunnel(node.port)
            await self._network.connect(lambda: connection.transport, route.address, tls, tunnel)
            progress.stage = Stage.API_VERSIONS
            connection.versions = await self._negotiate(connection)
            if self.authenticator is not None:
                progress.stage = Stage.SASL
                await self.authenticator.authenticate(connection, timeout, progress.waits_for)
        except BaseException:
            connection.abort(NodeUnavailableError(f"gave up connecting to {node}"))
            raise
        return connection

    def _tls_for(self, host: str, progress: Progress) -> ClientTls | None:
        if self._tls is None:
            return None

        def begun() -> None:
            progress.stage, progress.is_encrypted = Stage.TLS, True

        return ClientTls(self._tls.current(), server_name(host), begun)

    async def _negotiate(self, connection: Connection) -> PeerVersions:
        """Ask for the API versions of the broker; retry with version 0 if it refuses ours."""
        version = FIRST_API_VERSIONS
        for _ in range(1 + MAX_DOWNGRADES):
            response = await self._ask_versions(connection, version)
            if response.error_code == ErrorCode.NONE:
                return PeerVersions.from_response(response)
            if response.error_code != ErrorCode.UNSUPPORTED_VERSION:
                raise error_for(response.error_code, node_id=connection.node.node_id)
            version = min(downgraded_api_versions(response), max(0, version - 1))
        raise MalformedResponseError("it refuses every version of ApiVersions, even version 0")

    async def _ask_versions(self, connection: Connection, version: int) -> ApiVersionsResponse:
        request = ApiVersionsRequest(
            client_software_name=SOFTWARE_NAME, client_software_version=__version__
        )
        answer = asyncio.get_running_loop().create_future()
        connection.write(
            new_pending(request, answer, ALL_VERSIONS, 0.0, NEVER), version, self._clock.now()
        )
        response: ApiVersionsResponse = await answer
        return response


def unavailable(
    node: Node, attempts: list[ConnectionAttempt], hint: str = ""
) -> NodeUnavailableError:
    """Return the error of a node after all these attempts failed."""
    tried = "; ".join(attempt.failure for attempt in attempts) or "its name resolves to no address"
    return NodeUnavailableError(
        f"cannot connect to {node}: {tried}{hint}", node_id=node.node_id, attempts=attempts
    )


def explained(progress: Progress, error: Exception, timeout: float) -> ConnectionAttempt:
    """Return a failed attempt in words: what happened, and what to look at first."""
    if isinstance(error, TimeoutError) and not isinstance(error, KafkaError):
        return progress.silent(timeout)
    if isinstance(error, RuntimeError) and progress.stage in (Stage.DNS, Stage.PROXY):
        return progress.failed("the program is ending, so no name can be looked up", "")
    if isinstance(error, ConnectionRefusedError):
        server = "proxy" if progress.stage is Stage.PROXY else "broker"
        hint = f"is the {server} up, and the port right?{refusal_hint(error, progress.address)}"
        return progress.failed("connection refused", hint)
    failure = _tls_failure(error)
    if failure is not None:
        progress.stage = Stage.TLS
        return progress.failed(failure.cause, failure.hint)
    if progress.stage is Stage.TLS and isinstance(error, ConnectionError):
        return progress.failed("it closed the connection during the handshake", CLOSED_HINT)
    cause = error.strerror if isinstance(error, OSError) else None
    if open_files.are_too_many(error):
        hint = open_files.HINT
    elif progress.stage is Stage.PROXY:
        hint = "" if progress.address else "is the proxy's name right, and known on this machine?"
    elif progress.stage is Stage.DNS:
        hint = "is the name right, and known on this machine?"
    elif isinstance(error, NodeDisconnectedError) and progress.is_encrypted:
        hint = CERTIFICATE_HINT
    elif isinstance(error, NodeDisconnectedError | ConnectionError) and progress.has_worked:
        hint = (
            "an overloaded broker closes connections like this, and so does a load balancer whose "
            "broker is down"
        )
    elif isinstance(error, NodeDisconnectedError | ConnectionError):
        hint = (
            "a TLS listener closes connections like this (give security_protocol='SSL' or "
            "'SASL_SSL'), and so does an overloaded broker"
        )
    else:
        hint = ""
    text = cause or str(error) or type(error).__name__
    return progress.failed(text.removeprefix(f"{progress.server} "), hint)


def _tls_failure(error: Exception) -> TlsFailure | None:
    """Return what is known of a failure of TLS; None if it was another one.

    A server may refuse the client's certificate after the handshake: then the error of TLS is the
    cause of a lost connection.
    """
    if "ssl" not in sys.modules:  # which no client without TLS needs
        return None
    import ssl

    found = error if isinstance(error, ssl.SSLError) else error.__cause__
    if isinstance(found, ssl.SSLCertVerificationError):
        return explain_tls(found.reason, found.verify_code, found.verify_message)
    if isinstance(found, ssl.SSLError) and not isinstance(found, ssl.SSLEOFError):
        return explain_tls(found.reason, None, "")
    return None


ADVERTISED = f"; {NAMED_BY_BROKER}: {CORRECT_LISTENERS}"

NO_PROOF = "this client got no token, ticket or key to log in with"
NO_PROOF_HINT = (
    "not the broker is slow, but what auth= asks: the function for tokens, the identity provider, "
    "or Kerberos"
)

SILENCE = {
    Stage.PROXY: "the proxy does not answer, or the broker does not answer it",
    Stage.DNS: "the name server does not answer",
    Stage.TCP: "a firewall drops packets, or the address is wrong",
    Stage.TLS: "it does not answer the TLS handshake: is it a TLS listener?",
    Stage.SASL: "the broker is overloaded, or what checks its users does not answer",
    Stage.API_VERSIONS: "it accepts connections but does not answer: is it a Kafka broker?",
    Stage.METADATA: "the broker is overloaded, or still starting",
}
