"""Sessions of pytest with the plugin of the reference broker, as users have them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

NO_HYPOTHESIS = ("-p", "no:hypothesispytest")
"""To import it takes a third of the time of a session, and no test in it is about that."""


def run(folder: Path, *arguments: str, **files: str) -> tuple[int, str]:
    """Run pytest on files of tests; return how it ended, and what it printed."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(folder)),
            *("--basetemp", str(folder / "temporary"), "-W", "error", *arguments),
            *NO_HYPOTHESIS,
            *(() if is_installed() else ("-p", "pyk.reference_broker.pytest_plugin")),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": ""},
    )
    return done.returncode, done.stdout + done.stderr


def is_installed() -> bool:
    """Return whether pytest finds the plugin by itself: not in installations of before."""
    from importlib.metadata import entry_points

    return any(one.value.startswith("pyk.") for one in entry_points(group="pytest11"))


def passed(folder: Path, count: int, *arguments: str, **files: str) -> None:
    """Run pytest on files of tests, of which so many pass."""
    status, output = run(folder, *arguments, **files)
    assert status == 0, output
    assert f"{count} passed" in output, output
