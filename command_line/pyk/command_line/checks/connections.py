"""Conclude from attempts to reach addresses. Pure.

The causes and hints are those of the clients' own errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import attrs

from pyk.clients import Node
from pyk.clients.errors import AuthenticationError, ConnectionAttempt, KafkaError, Stage
from pyk.command_line.checks.finding import Finding, failed, ok, warning

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
    "the brokers themselves name this address (advertised.listeners), and clients need every one "
    "of them: with some unreachable, a part of the partitions is"
)
CORRECT_LISTENERS = (
    "correct advertised.listeners of the broker to an address that its clients can reach, or let "
    "this machine reach the address"
)


@attrs.frozen
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


@attrs.frozen
class Unreached:
    """A server to which no connection was made."""

    server: str
    stage: Stage
    """How far the last attempt came."""
    error: KafkaError
    attempts: tuple[ConnectionAttempt, ...] = ()


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
    attempts = outcome.attempts
    if not attempts:
        meaning = MEANINGS[outcome.stage]
        advice = (
            "check the mechanism, the user and the password, and the users that the broker knows"
            if isinstance(outcome.error, AuthenticationError) and outcome.stage is Stage.SASL
            else "see the words of the error"
        )
        yield failed(outcome.stage.value, server, str(outcome.error), meaning, advice)
    for attempt in attempts:
        yield _failed_attempt(attempt, is_advertised=is_advertised)


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
        advice = f"{advice} {CORRECT_LISTENERS}" if advice else CORRECT_LISTENERS
    bare = attrs.evolve(attempt, hint="").failure.removeprefix(f"{attempt.stage.value}: ")
    bare = bare.removeprefix(f"{attempt.stage.value} ")
    return failed(attempt.stage.value, attempt.server, bare, meaning, advice or "see the cause")


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, whatever machine that is."""
    return host in ("localhost", "::1") or host.startswith("127.")


def advertised_findings(
    bootstrap_hosts: Iterable[str], advertised: Sequence[Node]
) -> Iterator[Finding]:
    """Yield what is suspicious about the addresses that brokers advertise."""
    is_local = all(map(is_loopback, bootstrap_hosts))
    for node in advertised:
        if is_loopback(node.host) and not is_local:
            yield failed(
                "listener",
                f"broker {node.node_id}",
                f"it advertises {node.address}",
                "clients on other machines would connect to themselves",
                CORRECT_LISTENERS,
            )
    seen: dict[str, int] = {}
    for node in advertised:
        other = seen.setdefault(node.address, node.node_id)
        if other != node.node_id:
            yield failed(
                "listener",
                f"broker {node.node_id}",
                f"it advertises {node.address}, and so does broker {other}",
                "requests for one broker reach the other, which refuses them",
                "give each broker an advertised.listeners of its own",
            )
