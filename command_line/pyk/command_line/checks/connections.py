"""Conclude from attempts to reach addresses. Pure.

The causes and hints are those of the clients' own errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyk.clients import Node
from pyk.clients.errors import ConnectionAttempt, KafkaError, Stage
from pyk.clients.errors.advice import CORRECT_LISTENERS, NAMED_BY_BROKER
from pyk.command_line.checks.finding import Finding, failed, ok, warning
from pyk.runtime import slotted

MEANINGS = {
    Stage.PROXY: "the proxy does not lead to the broker",
    Stage.DNS: "this machine finds no address for that name",
    Stage.TCP: "nothing accepts connections there, or something in between drops them",
    Stage.TLS: "client and broker do not agree on encryption, or one does not trust the other",
    Stage.API_VERSIONS: "something accepts connections there, but does not answer as a Kafka "
    "broker on a listener of this kind does",
    Stage.SASL: "the broker does not accept the login",
    Stage.METADATA: "the broker accepts the client, and does not answer it",
}
ADVERTISED = (
    f"{NAMED_BY_BROKER} (advertised.listeners), and clients need every one of them: with some "
    "unreachable, a part of the partitions is"
)
NOT_LOOPBACK = "name an address of the broker that its clients can reach"
CORRECT_NAME = "correct advertised.listeners of the broker that names this address"
MISROUTED = "requests for one broker reach the other, which refuses them"
SEE_ERROR = "see the words of the error"


@slotted.frozen
class Reached:
    """A server to which a connection was made."""

    server: str
    address: str
    took_ms: float
    is_encrypted: bool
    mechanism: str | None = None
    """Of the login, None without one."""
    failures: tuple[ConnectionAttempt, ...] = ()
    """Of other addresses of the same name, before this one."""


@slotted.frozen
class Unreached:
    """A server to which no connection was made."""

    server: str
    stage: Stage
    """How far the last attempt came."""
    error: KafkaError
    attempts: tuple[ConnectionAttempt, ...] = ()


@slotted.frozen
class Identity:
    """What a server says of itself."""

    cluster_id: str | None
    is_the_broker: bool = True
    """False if it is another broker than the one that advertises its address."""


def connection_findings(
    outcome: Reached | Unreached, addresses: Sequence[str], *, is_advertised: bool = False
) -> Iterator[Finding]:
    """Yield what was found out about one server; ``addresses`` are those of its name."""
    server = outcome.server
    if addresses and addresses != [server]:
        yield ok(Stage.DNS.value, server, f"it is {', '.join(addresses)}")
    if isinstance(outcome, Reached):
        yield from _steps(outcome)
        return
    if not outcome.attempts:
        yield _refused(outcome)
    for attempt in outcome.attempts:
        yield _failed_attempt(attempt, is_advertised=is_advertised)


def _refused(outcome: Unreached) -> Finding:
    """Return the finding of a server that does not accept the client, or the client it."""
    advice: str = getattr(outcome.error, "advice", "")
    seen = str(outcome.error).removesuffix(f"; {advice}")
    meaning = MEANINGS[outcome.stage]
    return failed(outcome.stage.value, outcome.server, seen, meaning, advice or SEE_ERROR)


def _steps(outcome: Reached) -> Iterator[Finding]:
    for attempt in outcome.failures:
        yield warning(
            attempt.stage.value,
            attempt.server,
            attempt.failure,
            "the name has another address that works, so each new connection loses time",
            "remove the address that does not work from DNS",
        )
    server = outcome.server
    yield ok(Stage.TCP.value, server, f"{outcome.address} accepts connections")
    if outcome.is_encrypted:
        yield ok(Stage.TLS.value, server, "its certificate is trusted and fits its name")
    yield ok(Stage.API_VERSIONS.value, server, f"it is a Kafka broker ({outcome.took_ms:.0f} ms)")
    if outcome.mechanism is not None:
        yield ok(Stage.SASL.value, server, f"it accepts the login by {outcome.mechanism}")


def _failed_attempt(attempt: ConnectionAttempt, *, is_advertised: bool) -> Finding:
    meaning, advice = MEANINGS[attempt.stage], attempt.hint
    if is_advertised:
        meaning = f"{meaning}; {ADVERTISED}"
        gap = " " if advice.endswith("?") else "; "
        advice = f"{advice}{gap}{CORRECT_LISTENERS}" if advice else CORRECT_LISTENERS
    bare = slotted.evolve(attempt, hint="").failure.removeprefix(f"{attempt.stage.value}: ")
    bare = bare.removeprefix(f"{attempt.stage.value} ")
    return failed(attempt.stage.value, attempt.server, bare, meaning, advice or SEE_ERROR)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, whatever machine that is."""
    return host in ("localhost", "::1") or host.startswith("127.")


def advertised_findings(reached_host: str, advertised: Sequence[Node]) -> Iterator[Finding]:
    """Yield what is suspicious about the addresses that brokers advertise.

    ``reached_host`` is the server that told of them.
    """
    for node in advertised:
        if is_loopback(node.host) and not is_loopback(reached_host):
            yield failed(
                "listener",
                f"broker {node.node_id}",
                f"it advertises {node.address}",
                "clients on other machines would connect to themselves",
                f"correct advertised.listeners: {NOT_LOOPBACK}",
            )
    seen: dict[str, int] = {}
    for node in advertised:
        other = seen.setdefault(node.address, node.node_id)
        if other != node.node_id:
            yield failed(
                "listener",
                f"broker {node.node_id}",
                f"it advertises {node.address}, and so does broker {other}",
                MISROUTED,
                "give each broker an advertised.listeners of its own",
            )


def identity_findings(
    server: str, found: Identity, cluster_id: str | None, node: Node | None = None
) -> Iterator[Finding]:
    """Yield whether a server is of another cluster than the first one, or another broker.

    ``node`` is the broker that advertises the address of the server, None for a bootstrap server.
    """
    if found.cluster_id != cluster_id:
        yield failed(
            "cluster",
            server,
            f"it belongs to cluster {found.cluster_id}, the first server to {cluster_id}",
            "a client would mix up two clusters",
            "give servers of one cluster only" if node is None else CORRECT_NAME,
        )
    elif node is not None and not found.is_the_broker:
        yield failed(
            "listener",
            f"broker {node.node_id}",
            f"it advertises {server}, where another broker answers",
            MISROUTED,
            CORRECT_NAME,
        )
