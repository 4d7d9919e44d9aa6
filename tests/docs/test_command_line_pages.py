"""The pages about the command line match the commands, and what they show is what happens."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from docs.command_page import COMMAND, PAGE, page
from pyk.reference_broker import Cluster
from support.real_time import IN_TIME

GUIDE = PAGE.with_name("command-line.md")
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_the_reference_matches_the_commands() -> None:
    assert PAGE.read_text("utf-8") == page(), f"run  {COMMAND}"


def shown() -> list[tuple[str, str]]:
    """Return the commands of the guide, and what it shows of their output."""
    lines = [line for block in CONSOLE.findall(GUIDE.read_text("utf-8")) for line in
             block.splitlines()]  # fmt: skip
    found: list[tuple[str, str]] = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:], ""))
        else:
            command, output = found.pop()
            found.append((command, f"{output}{line}\n"))
    return found


def test_the_commands_of_the_guide_print_what_it_shows(tmp_path: Path) -> None:
    with Cluster() as cluster:
        outcomes = [
            (command, subprocess.run(
                ["bash", "-c", (f'pyk() {{ "{sys.executable}" -m pyk.command_line "$@"; }}; '
                 f"{command}")],
                capture_output=True, text=True, timeout=IN_TIME, check=False, cwd=tmp_path,
                env={**os.environ, "PYK_BOOTSTRAP": cluster.bootstrap},
            ))
            for command, _ in shown()
        ]  # fmt: skip

    printed = [(command, ran.stdout + ran.stderr) for command, ran in outcomes]
    assert len(printed) > 20
    assert printed == shown()
