"""The checker reads history files by itself, says what is wrong with them, and is fast."""

from __future__ import annotations

import ast
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pykcheck
from pykcheck import HistoryError, Recorder, check, history_of, read_history
from pykcheck.graph import components

PACKAGE = Path(pykcheck.__file__).parent


def imported_packages(source: str) -> set[str]:
    """Return the top packages that a module imports absolutely."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add((node.module or "").partition(".")[0])
    return names


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.stem)
def test_the_checker_imports_nothing_but_the_standard_library(path: Path) -> None:
    assert imported_packages(path.read_text()) <= sys.stdlib_module_names | {"pykcheck"}


def test_the_search_for_imports_finds_them() -> None:
    source = "import pyk.clients\nfrom attrs import define\nfrom . import x\n"

    assert imported_packages(source) == {"pyk", "attrs"}


def invoke(number: int = 0, **fields: Any) -> dict[str, Any]:
    return {"op": number, "type": "invoke", "process": "p", "time": 0.0, **fields}


SEND = invoke(f="send", value="a", partition="t-0")


@pytest.mark.parametrize(
    "events",
    [
        [invoke(f="sing")],
        [invoke(f="send")],
        [invoke(f="crash", why="who knows")],
        [SEND, SEND],
        [SEND, {**SEND, "op": 1}],
        [{"op": 0, "type": "ok", "time": 1.0}],
        [SEND, {"op": 0, "type": "perhaps", "time": 1.0}],
        [SEND, *[{"op": 0, "type": "ok", "time": 1.0, "offset": 0}] * 2],
        [{"type": "invoke"}],
    ],
    ids=str,
)
def test_an_invalid_history_is_refused(events: list[dict[str, Any]]) -> None:
    with pytest.raises(HistoryError):
        history_of(events)


def test_a_commit_of_a_transaction_that_never_began_is_refused() -> None:
    history = history_of([invoke(f="commit", transaction="x")])

    with pytest.raises(HistoryError, match="never began"):
        check(history)


def test_what_a_killed_process_recorded_is_there() -> None:
    file = io.StringIO()
    recorder = Recorder(lambda: 1.0, file=file)
    recorder.complete(recorder.invoke("p", "send", value="a", partition="t-0"), offset=0)
    recorder.invoke("p", "send", value="b", partition="t-0")

    history = history_of(map(json.loads, file.getvalue().splitlines()))

    assert check(history).operations == {"Send": {"ok": 1, "unknown": 1}}


def test_the_command_prints_figures_and_fails_for_an_anomaly(tmp_path: Path) -> None:
    recorder = Recorder(lambda: 1.0)
    recorder.complete(recorder.invoke("r", "poll"), records=[("t-0", 0, "a")])
    recorder.save(tmp_path / "history.jsonl")

    run = subprocess.run(
        [sys.executable, "-m", "pykcheck", str(tmp_path / "history.jsonl")],
        env={"PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 1
    assert "Poll: 1 ok" in run.stdout
    assert "invented 1" in run.stdout
    assert check(read_history(tmp_path / "history.jsonl")).counts == {"invented": 1}


def test_components_are_the_sets_of_nodes_that_reach_each_other() -> None:
    edges = [[1], [2, 3], [0], [4], [], [5]]

    found = sorted(sorted(component) for component in components(edges))

    assert found == [[0, 1, 2], [3], [4], [5]]


def test_a_long_path_needs_no_recursion() -> None:
    edges = [[node + 1] for node in range(50_000)] + [[]]

    assert len(components(edges)) == 50_001
