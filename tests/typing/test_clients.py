"""The type hints of the clients accept correct calls and refuse wrong ones."""

from __future__ import annotations

import re
from pathlib import Path

from mypy import api

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("clients_as_used.py")


def test_the_type_checker_refuses_exactly_the_wrong_lines() -> None:
    out, err, _ = api.run(["--config-file", str(ROOT / "pyproject.toml"), str(PROGRAM)])
    refused = {int(line) for line in re.findall(r"clients_as_used\.py:(\d+): error", out)}

    lines = PROGRAM.read_text().splitlines()
    wrong = {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}
    assert refused == wrong, out + err
