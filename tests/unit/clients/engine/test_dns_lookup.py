"""Names of bootstrap servers: as given, or those of their addresses (``client.dns.lookup``)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pyk.clients.config import ClientConfig
from pyk.clients.engine.dialer import Progress
from pyk.clients.engine.metadata import Node
from pyk.clients.engine.routes import Routes
from pyk.clients.security import Plain
from pyk.clients.security.exchange import Exchange
from pyk.runtime.network import Address, MemoryNetwork
from pyk.runtime.virtual_time import virtual_time
from support.engine_parts import make_client
from support.sasl_broker import SaslBroker
from support.scripted_broker import ScriptedCluster

CANONICAL = {"client_dns_lookup": "resolve_canonical_bootstrap_servers_only"}
ALIAS = {"kafka": ["10.0.0.1", "10.0.0.2"]}
BOOTSTRAP, BROKER = Node(-1, "kafka", 9092), Node(1, "kafka", 9092)


class NamedAddresses(MemoryNetwork):
    """A network in which ``kafka`` has addresses, and all but one of these have names."""

    async def resolve(self, host: str, port: int) -> list[Address]:
        return [Address(address, port) for address in ALIAS.get(host, [host])]

    async def canonical_name(self, address: Address) -> str:
        return {"10.0.0.1": "broker1.example"}.get(address.host, address.host)


async def routes(node: Node, **options: str) -> Sequence[tuple[str, str]]:
    """Return the addresses of a node, each with the name that its certificate must have."""
    config = ClientConfig.from_kwargs("kafka:9092", **options)
    found = await Routes(config, NamedAddresses()).to(node, Progress("kafka:9092"))
    return [(one.target or one.address.host, one.host) for one in found]


@virtual_time
async def test_every_address_goes_by_the_name_given() -> None:
    assert await routes(BOOTSTRAP) == [("10.0.0.1", "kafka"), ("10.0.0.2", "kafka")]


@virtual_time
async def test_every_address_of_a_bootstrap_server_goes_by_its_own_name_if_asked_for() -> None:
    expected = [("10.0.0.1", "broker1.example"), ("10.0.0.2", "10.0.0.2")]

    assert await routes(BOOTSTRAP, **CANONICAL) == expected


@virtual_time
async def test_brokers_that_metadata_names_go_by_the_name_given() -> None:
    assert await routes(BROKER, **CANONICAL) == await routes(BROKER)


@virtual_time
async def test_addresses_go_by_their_names_through_a_proxy_that_is_told_addresses() -> None:
    expected = [("10.0.0.1", "broker1.example"), ("10.0.0.2", "10.0.0.2")]

    assert await routes(BOOTSTRAP, proxy="socks5://proxy:1080", **CANONICAL) == expected


@virtual_time
async def test_a_proxy_that_resolves_names_gets_the_name_given() -> None:
    assert await routes(BOOTSTRAP, proxy="http://proxy:3128", **CANONICAL) == [("kafka", "kafka")]


@virtual_time
async def test_the_address_that_worked_last_is_tried_first() -> None:
    finder = Routes(ClientConfig.from_kwargs("kafka:9092"), NamedAddresses())
    _, second = await finder.to(BROKER, Progress("kafka:9092"))

    finder.worked(BROKER, second)

    assert (await finder.to(BROKER, Progress("kafka:9092")))[0] == second


@pytest.mark.parametrize("proxy", ["http://proxy:3128", "socks5h://proxy:1080"])
def test_a_lookup_that_a_proxy_does_is_without_effect(
    proxy: str, caplog: pytest.LogCaptureFixture
) -> None:
    ClientConfig.from_kwargs("kafka:9092", proxy=proxy, **CANONICAL)

    assert "client_dns_lookup (the proxy resolves names)" in caplog.text


class HostOfLogin:
    """Credentials that note the host that they log in to, as a ticket of Kerberos names it."""

    mechanism, principal, advice = "PLAIN", "alice", ""

    def __init__(self) -> None:
        self.hosts: list[str] = []

    def exchange(self, nonce: str, host: str) -> Exchange:
        self.hosts.append(host)
        return Plain("alice", "secret").exchange(nonce, host)


class Alias(MemoryNetwork):
    """A network in which ``kafka`` leads to ``broker1``, whose canonical name is another."""

    async def resolve(self, host: str, port: int) -> list[Address]:
        return [Address("broker1" if host == "kafka" else host, port)]

    async def canonical_name(self, address: Address) -> str:
        return f"{address.host}.example"


@pytest.mark.parametrize(
    ("options", "host"), [({}, "kafka"), (CANONICAL, "broker1.example")], ids=["given", "canonical"]
)
def test_a_login_names_the_host_as_the_certificate_does(options: dict[str, str], host: str) -> None:
    @virtual_time
    async def run() -> None:
        async with ScriptedCluster(Alias()) as cluster:
            SaslBroker({"alice": "secret"}).serve(cluster)
            auth = HostOfLogin()
            client = make_client(
                cluster,
                auth=auth,
                security_protocol="SASL_PLAINTEXT",
                bootstrap="kafka:9092",
                **options,
            )

            await client.start()

            assert auth.hosts[0] == host
            await client.close()

    run()
