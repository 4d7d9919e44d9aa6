"""``make docs`` writes every page that is made from the code."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parent
MAKEFILE = FOLDER.parents[1] / "Makefile"


def test_make_docs_runs_every_module_that_writes_a_page() -> None:
    writers = {
        file.stem
        for file in FOLDER.glob("*.py")
        if '\nif __name__ == "__main__":\n' in file.read_text("utf-8")
    }

    target = MAKEFILE.read_text("utf-8").split("\ndocs:", 1)[1].split("\n\n", 1)[0]

    assert len(writers) > 3
    assert set(re.findall(r"python -m docs\.(\w+)", target)) == writers
