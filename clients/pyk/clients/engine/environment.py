"""The environment of a client, which tests can replace."""

from __future__ import annotations

from random import Random
from typing import TypedDict

from pyk.runtime.clock import Clock
from pyk.runtime.network import Network


class ClientEnvironment(TypedDict, total=False):
    """Keyword arguments of clients; what is None or left out is the real one.

    In a simulated world it is that of the host that the code runs on; a simulated host has them as
    ``client_options``, too (:mod:`pyk.runtime.simulation`).
    """

    clock: Clock | None
    network: Network | None
    random: Random | None
