"""``pyk doctor`` in tests: what it found, beside the errors of clients."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from pyk.clients import (
    Admin,
    KafkaError,
)
from support.pyk_command import Ran, run

WORKS = {"TCP", "ApiVersions", "versions", "Metadata", "controller", "clock", "leaders",
         "replicas", "authorization"}  # fmt: skip
"""The checks of a cluster that works, and of its topic."""


@attrs.frozen
class Broken:
    """The findings that are not ok, and the checks of those that are."""

    ran: Ran

    @property
    def findings(self) -> list[dict[str, str]]:
        return [one for one in self.ran.json if one["status"] != "ok"]

    @property
    def only(self) -> dict[str, str]:
        (finding,) = self.findings
        assert finding["meaning"], finding
        assert finding["advice"], finding
        return finding

    @property
    def ok(self) -> set[str]:
        return {one["check"] for one in self.ran.json if one["status"] == "ok"}


def doctor(bootstrap: str, *words: object) -> Broken:
    return Broken(run("doctor", "-b", bootstrap, *words, "--timeout", 5, "--json"))


def properties(**options: object) -> list[str]:
    return [word for name, value in options.items() for word in ("-X", f"{name}={value}")]


def of_client(bootstrap: str, options: dict[str, Any]) -> KafkaError:
    """Return the error of an admin client with these options."""
    properties = {name: str(value) for name, value in options.items()}
    with (
        pytest.raises(KafkaError) as caught,
        Admin.from_properties({"bootstrap.servers": bootstrap, **properties}),
    ):
        pass
    return caught.value
