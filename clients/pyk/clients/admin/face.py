"""The methods that the blocking and the asyncio admin client share unchanged."""

from __future__ import annotations

import os
import random as randomness
from collections.abc import Mapping, Sequence
from typing import Self, Unpack

from pyk.clients import config as option_types
from pyk.clients.admin.core import AdminCore
from pyk.clients.config import AdminConfig
from pyk.clients.config.properties_file import read_properties
from pyk.clients.config.signature import with_options_of
from pyk.runtime.clock import Clock
from pyk.runtime.network import Network


@with_options_of(AdminConfig, "AdminOptions")
class AdminFace:
    """The constructors that both admin clients share."""

    _core: AdminCore

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str] | None = None,
        *,
        clock: Clock | None = None,
        network: Network | None = None,
        random: randomness.Random | None = None,
        **options: Unpack[option_types.AdminOptions],
    ) -> None:
        """Check the options; nothing is connected yet.

        Raises :class:`ConfigurationError` for an option that is unknown or out of range.
        Tests can replace ``clock``, ``network`` and ``random``.
        """
        config = AdminConfig.from_kwargs(bootstrap_servers, **options)
        self._set_up(AdminCore(config, clock=clock, network=network, random=random))

    @classmethod
    def from_properties(
        cls,
        source: str | os.PathLike[str] | Mapping[str, object],
        /,
        **overrides: Unpack[option_types.AdminOptions],
    ) -> Self:
        """Return an admin client configured by Kafka's dotted names, from a file or a mapping."""
        admin = cls.__new__(cls)
        config = AdminConfig.from_properties(read_properties(source), **overrides)
        admin._set_up(AdminCore(config))
        return admin

    def _set_up(self, core: AdminCore) -> None:
        """Stand on a core."""
        self._core = core

    def __repr__(self) -> str:
        return self._core.config.name_of(self)
