"""The start of the ``pyk`` command."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pyk.command_line.frame.exit_codes import ExitCode

INTERRUPT_AT_IMPORT = """
import signal, sys
from importlib.abc import MetaPathFinder

class Callback:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

class Hook:
    def __set_name__(self, owner, name):
        signal.raise_signal(signal.SIGINT)

class CtrlC(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            {interrupt}

sys.meta_path.insert(0, CtrlC())
sys.argv = ["pyk", "topic", "list", "-b", "127.0.0.1:1"]
{program}
"""
SCRIPT = "from pyk.command_line.start import start; start()"
MODULE = "import runpy; runpy.run_module('pyk.command_line', run_name='__main__', alter_sys=True)"
MODULES = [
    "click",
    "pyk.command_line.main",
    "pyk.command_line.frame.commands",
    "pyk.command_line.topic",
    "pyk.clients",
]
SIGNAL = "signal.raise_signal(signal.SIGINT)"


@pytest.mark.parametrize("program", [SCRIPT, MODULE], ids=["script", "module"])
@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize(
    "interrupt",
    [
        pytest.param("raise KeyboardInterrupt", id="exception"),
        pytest.param(SIGNAL, id="signal"),
        pytest.param("Callback()", id="signal in a callback of the import"),
        pytest.param("type('Owner', (), {'field': Hook()})", id="signal in a hook of a class"),
    ],
)
def test_an_interrupt_while_modules_are_imported_ends_it_quietly(
    module: str, program: str, interrupt: str
) -> None:
    assert_ends_quietly(module, interrupt, program)


@pytest.mark.parametrize(
    "interrupt",
    [
        pytest.param(f"{SIGNAL}; {SIGNAL}", id="at once"),
        pytest.param(f"{SIGNAL}; type('Owner', (), {{'field': Hook()}})", id="in a hook"),
        pytest.param(f"{SIGNAL}; Callback()", id="in a callback"),
    ],
)
def test_a_second_interrupt_in_an_import_ends_it_quietly_too(interrupt: str) -> None:
    assert_ends_quietly("pyk.clients", interrupt, SCRIPT)


def assert_ends_quietly(module: str, interrupt: str, program: str) -> None:
    code = INTERRUPT_AT_IMPORT.format(module=module, interrupt=interrupt, program=program)
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (ExitCode.INTERRUPTED, "", "\n")
