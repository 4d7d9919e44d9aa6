"""The links of a network in memory: what happens to data on the way from one host to another.

Pure. A link has one direction, because real networks fail in one direction, too. What is sent over
a link that is cut waits there, as TCP sends again what was not acknowledged: once the link is
healed, it arrives, and nothing is missing in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pyk.runtime import slotted
from pyk.runtime.checked_arguments import checked_flag, checked_number, checked_text


@slotted.define(eq=False)
class Link:
    """The way from one host to another, shared by all their connections."""

    source: str
    target: str
    latency: float
    """Seconds that data take."""
    is_cut: bool = False
    is_open: bool = True
    """Whether data pass: it is not cut, and neither host is isolated."""
    held: list[Callable[[], object]] = slotted.field(factory=list)
    """Functions to call once data pass again, in this order."""

    def connects(self, one: str, other: str | None) -> bool:
        """Return whether the link is between two hosts, or one and any other, in any direction."""
        if other is None:
            return one in (self.source, self.target)
        return (self.source, self.target) in ((one, other), (other, one))


class Links:
    """All links between hosts, by their names."""

    def __init__(self, latency: float) -> None:
        self._latency = latency
        self._links: dict[tuple[str, str], Link] = {}
        self._isolated: dict[str, None] = {}
        self._hosts: dict[str, None] = {}

    def link(self, source: str, target: str) -> Link:
        """Return the link from one host to another."""
        link = self._links.get((source, target))
        if link is None:
            link = self._links[source, target] = Link(source, target, self._latency)
            self._update(link)
        return link

    def add_host(self, name: str) -> None:
        """Add a host; links between others cannot be cut or delayed."""
        self._hosts[name] = None

    def cut(self, source: str, target: str, *, one_way: bool = False) -> None:
        """Let nothing pass between two hosts, or from the first to the second."""
        checked_flag(one_way, "one_way")
        for link in self._between(source, target, one_way):
            link.is_cut = True
            self._update(link)

    def isolate(self, host: str) -> None:
        """Let nothing pass between a host and all others."""
        self._check_hosts(host)
        self._isolated[host] = None
        self._update_all()

    def delay(self, source: str, target: str, latency: float, *, one_way: bool = False) -> None:
        """Set the seconds that data take from now on between two hosts, or to the second only."""
        checked_number(latency, "latency")
        checked_flag(one_way, "one_way")
        for link in self._between(source, target, one_way):
            link.latency = latency

    def heal(self, one: str | None = None, other: str | None = None) -> None:
        """Let data pass again: between two hosts, between one and all others, or everywhere."""
        self._check_hosts(one, other)
        for link in self._links.values():
            if one is None or link.connects(one, other):
                link.is_cut = False
        if one is None:
            self._isolated.clear()
        elif other is None:
            self._isolated.pop(one, None)
        self._update_all()

    def _between(self, source: str, target: str, one_way: bool) -> Iterator[Link]:
        self._check_hosts(source, target)
        yield self.link(source, target)
        if not one_way:
            yield self.link(target, source)

    def _check_hosts(self, *names: str | None) -> None:
        for name in names:
            if name is not None and checked_text(name, "the name of a host") not in self._hosts:
                raise ValueError(
                    f"there is no host {name!r} on this network, only "
                    f"{', '.join(map(repr, self._hosts))}: create it first, with host({name!r})"
                )

    def _update_all(self) -> None:
        for link in list(self._links.values()):
            self._update(link)

    def _update(self, link: Link) -> None:
        isolated = link.source in self._isolated or link.target in self._isolated
        link.is_open = not (link.is_cut or isolated)
        if link.is_open and link.held:
            held, link.held = link.held, []
            for send_again in held:
                send_again()
