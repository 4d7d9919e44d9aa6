"""What clients of tests take from their environment."""

from __future__ import annotations

from random import Random

from pyk.clients.engine.environment import ClientEnvironment
from pyk.runtime.network import Network
from pyk.runtime.virtual_time import current_clock


def client_options(network: Network) -> ClientEnvironment:
    """Return keyword arguments for a client on a network, in virtual time, seeded.

    A client on a host of a simulated world has those of the host:
    :attr:`pyk.runtime.simulation.Host.client_options`.
    """
    return {"clock": current_clock(), "network": network, "random": Random(1)}
