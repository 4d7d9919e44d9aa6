"""The ``pyk`` command itself."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from pyk.command_line.main import main
from pyk.protocol import __version__


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_it_tells_its_version(option: str) -> None:
    told = CliRunner().invoke(main, [option])

    assert (told.exit_code, told.output) == (0, f"pyk, version {__version__}\n")


def test_its_help_lists_the_commands() -> None:
    told = CliRunner().invoke(main, ["--help"])

    assert told.exit_code == 0
    assert "Run a broker for development and tests." in told.output
