"""What the user gave of the options that all commands share. Pure."""

from __future__ import annotations

from pyk.runtime import slotted


@slotted.define
class Settings:
    """The shared options, from before and after the name of the command.

    What stands further right wins; ``-X`` adds up.
    """

    bootstrap: str | None = None
    profile: str | None = None
    properties: str | None = None
    """A file of Kafka's client properties."""
    options: dict[str, str] = slotted.field(factory=dict)
    """Options of clients by ``-X``."""
    as_json: bool = False
    verbosity: int = 0
    has_warned: bool = False
    """Whether the user knows that others can read the passwords of the profiles."""
