"""The methods that the blocking and the asyncio producer share unchanged."""

from __future__ import annotations

import os
import random as randomness
from collections.abc import Mapping, Sequence
from typing import Generic, Self, Unpack

from pyk.clients import config as option_types
from pyk.clients.config import ProducerConfig
from pyk.clients.config.properties_file import read_properties
from pyk.clients.config.signature import with_options_of
from pyk.clients.engine.environment import ClientEnvironment
from pyk.clients.payload import K, V
from pyk.clients.producer.faces.core import ProducerCore
from pyk.clients.producer.faces.stats import ProducerStats
from pyk.runtime.clock import Clock
from pyk.runtime.network import Network


@with_options_of(ProducerConfig, "ProducerOptions")
class ProducerFace(Generic[K, V]):
    """The methods of both producers that never wait: constructors and inspection."""

    _core: ProducerCore

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str] | None = None,
        *,
        clock: Clock | None = None,
        network: Network | None = None,
        random: randomness.Random | None = None,
        **options: Unpack[option_types.ProducerOptions],
    ) -> None:
        """Check the options; nothing is connected yet.

        Raises :class:`ConfigurationError` for an option that is unknown or out of range.
        Tests can replace ``clock``, ``network`` and ``random``.
        """
        config = ProducerConfig.from_kwargs(bootstrap_servers, **options)
        self._set_up(config, clock=clock, network=network, random=random)

    @classmethod
    def from_properties(
        cls,
        source: str | os.PathLike[str] | Mapping[str, object],
        /,
        **overrides: Unpack[option_types.ProducerOptions],
    ) -> Self:
        """Return a producer configured by Kafka's dotted names, from a file or a mapping."""
        producer = cls.__new__(cls)
        producer._set_up(ProducerConfig.from_properties(read_properties(source), **overrides))
        return producer

    def _set_up(self, config: ProducerConfig, **environment: Unpack[ClientEnvironment]) -> None:
        """Make what the producer stands on."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self._core.config.name_of(self)

    def stats(self) -> ProducerStats:
        """Return the producer's counters at this moment."""
        return self._core.stats()
