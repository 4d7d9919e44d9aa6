"""A virtual environment with the PySpark that Spark's own Kafka connector was built for.

The jars of that connector run on the PySpark of their own version only, which is older than the one
that pyk is developed with.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".venv-spark-4.2"
REQUIREMENTS = ROOT / "requirements" / "spark-4.2.txt"
SOURCE_ROOTS = ("runtime", "protocol", "clients", "reference_broker", "spark_connector", "tests")


def python() -> Path:
    """Return the environment's interpreter; create the environment the first time."""
    interpreter, installed = FOLDER / "bin" / "python", FOLDER / ".installed"
    if not installed.exists() or installed.stat().st_mtime < REQUIREMENTS.stat().st_mtime:
        print(f"set-up: {FOLDER.name}, with what {REQUIREMENTS.name} pins", flush=True)
        subprocess.run([sys.executable, "-m", "venv", FOLDER], check=True)
        install = [interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, "--require-hashes", "-r", REQUIREMENTS], check=True)
        installed.touch()
    return interpreter


def variables() -> dict[str, str]:
    """Return the environment variables with which that interpreter finds pyk's sources."""
    paths = [str(ROOT), *(str(ROOT / root) for root in SOURCE_ROOTS)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
