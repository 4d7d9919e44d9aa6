"""Find the ways to a broker: its addresses, and the proxy in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyk.clients.config import ClientConfig
from pyk.clients.config.client_config import CANONICAL_NAMES
from pyk.clients.engine.metadata import Node
from pyk.clients.errors import Stage
from pyk.clients.security.proxies import Proxy
from pyk.runtime import slotted
from pyk.runtime.network import Address, Network, Tunnel

if TYPE_CHECKING:
    from pyk.clients.engine.dialer import Progress

MAX_ROUTES = 8


@slotted.frozen
class Route:
    """One way to a broker."""

    address: Address
    """What to connect to: the broker, or the proxy."""
    host: str
    """The name that the broker's certificate must have."""
    proxy: Proxy | None = None
    target: str = ""
    """The name or address that the proxy is asked for."""

    @property
    def first_stage(self) -> Stage:
        """Return the step that connecting begins with."""
        return Stage.TCP if self.proxy is None else Stage.PROXY

    def tunnel(self, port: int) -> Tunnel | None:
        """Return the steps that the proxy needs to lead to a port of the broker."""
        return None if self.proxy is None else self.proxy.tunnel(self.target, port)


class Routes:
    """Resolves names, as ``client_dns_lookup`` and ``proxy`` want it."""

    def __init__(self, config: ClientConfig, network: Network) -> None:
        self._proxy: Proxy | None = config.proxy
        self._wants_canonical_names = config.client_dns_lookup == CANONICAL_NAMES
        self._network = network
        self._last_good: dict[str, Route] = {}

    async def to(self, node: Node, progress: Progress) -> list[Route]:
        """Return the ways to a node, first the one that worked last time.

        Raises OSError if a name is not known, ValueError if it cannot be one.
        """
        if self._proxy is None:
            routes = await self._direct(node)
        else:
            routes = await self._through(self._proxy, node, progress)
        last_good = self._last_good.get(node.host)
        return sorted(routes[:MAX_ROUTES], key=lambda route: route != last_good)

    def worked(self, node: Node, route: Route) -> None:
        """Try this way first from now on."""
        self._last_good[node.host] = route

    async def _direct(self, node: Node) -> list[Route]:
        addresses = await self._network.resolve(node.host, node.port)
        return [Route(one, await self._name(node, one)) for one in addresses[:MAX_ROUTES]]

    async def _through(self, proxy: Proxy, node: Node, progress: Progress) -> list[Route]:
        targets = [(node.host, node.host)]
        if not proxy.resolves_names:
            targets = [(one.address.host, one.host) for one in await self._direct(node)]
        progress.stage = Stage.PROXY
        addresses = await self._network.resolve(proxy.host, proxy.port)
        return [
            Route(address, name, proxy, target) for target, name in targets for address in addresses
        ]

    async def _name(self, node: Node, address: Address) -> str:
        """Return the name that the broker goes by at an address."""
        if node.node_id < 0 and self._wants_canonical_names:
            return await self._network.canonical_name(address)
        return node.host
