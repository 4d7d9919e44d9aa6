"""The start of the ``pyk`` command."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pyk.command_line.frame.exit_codes import ExitCode

INTERRUPT_AT_IMPORT = """
import sys
from importlib.abc import MetaPathFinder

class CtrlC(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, CtrlC())
sys.argv = ["pyk", "topic", "list", "-b", "127.0.0.1:1"]
{program}
"""
SCRIPT = "from pyk.command_line.start import start; start()"
MODULE = "import runpy; runpy.run_module('pyk.command_line', run_name='__main__', alter_sys=True)"


@pytest.mark.parametrize("program", [SCRIPT, MODULE], ids=["script", "module"])
@pytest.mark.parametrize(
    "module",
    [
        "click",
        "pyk.command_line.main",
        "pyk.command_line.frame.commands",
        "pyk.command_line.topic",
        "pyk.clients",
    ],
)
def test_an_interrupt_while_modules_are_imported_ends_it_quietly(module: str, program: str) -> None:
    code = INTERRUPT_AT_IMPORT.format(module=module, program=program)

    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )

    assert (ended.returncode, ended.stdout, ended.stderr) == (ExitCode.INTERRUPTED, "", "\n")
