"""The start of the ``pyk`` command."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pyk.command_line.frame.exit_codes import ExitCode
from pyk.protocol.version import __version__

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


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )


ENDING = """
import atexit, sys, threading
from pyk.command_line.start import start

atexit.register(print, "at exit")
sys.argv = ["pyk", {argument!r}]
{before}
try:
    start()
except SystemExit:
    print("left to Python")
    raise
"""
VERSION = f"pyk, version {__version__}"


def test_a_command_ends_without_freeing_its_objects() -> None:
    ended = run(ENDING.format(argument="--version", before=""))

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"{VERSION}\nat exit\n", "")


def test_the_end_after_a_mistake_has_its_exit_code() -> None:
    ended = run(ENDING.format(argument="--nonsense", before=""))

    assert (ended.returncode, ended.stdout) == (ExitCode.USAGE, "at exit\n")
    assert "--nonsense" in ended.stderr


def test_the_end_waits_for_threads_that_are_not_daemons() -> None:
    wait = "threading.Thread(target=lambda: print(threading.main_thread().join())).start()"

    ended = run(ENDING.format(argument="--version", before=wait))

    assert ended.stdout.splitlines() == [VERSION, "left to Python", "None", "at exit"]
    assert ended.returncode == 0


@pytest.mark.parametrize("observe", ["setprofile", "settrace"])
def test_profilers_and_debuggers_see_the_end(observe: str) -> None:
    ended = run(ENDING.format(argument="--version", before=f"sys.{observe}(lambda *_: None)"))

    assert ended.stdout.splitlines() == [VERSION, "left to Python", "at exit"]
    assert ended.returncode == 0


def test_output_that_cannot_be_flushed_at_the_end_is_told() -> None:
    full = "sys.stdout = open('/dev/full', 'w'); atexit.register(print, 'more', file=sys.stdout)"

    ended = run(ENDING.format(argument="--version", before=full))

    assert ended.returncode != 0
    assert "No space left on device" in ended.stderr
