"""Every Python snippet of the README and the guide runs unchanged, page by page.

The snippets of a page share one namespace, as they would in a reader's session. ``localhost:9092``
stands for a broker of the page's own, ``proxy.example:1080`` for a proxy. A snippet under the
comment ``<!-- not run -->`` shows something that no test can do, and the text beside it says why.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyk.reference_broker import Cluster
from support.forward_proxy import ForwardProxy

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
SNIPPET = re.compile(r"(<!-- not run -->\n)?^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NEEDS_SPARK = {"spark.md"}
# A reader who follows the guide has one broker, and a group of one page must not be of another type
# on the next one.
ABOUT_GROUPS = ["groups", "slow-handlers", "share-groups", "read-once", "exactly-once", "consuming"]


def snippets(page: Path) -> list[tuple[int, str]]:
    """Return ``(first line, code)`` of each snippet to run."""
    text = page.read_text()
    return [
        (text.count("\n", 0, found.start(2)), found.group(2))
        for found in SNIPPET.finditer(text)
        if not found.group(1)
    ]


def run(page: Path, bootstrap: str, proxy: str) -> None:
    namespace: dict[str, object] = {"__name__": "__main__"}
    for line, code in snippets(page):
        source = "\n" * line + code.replace("localhost:9092", bootstrap)
        source = source.replace("proxy.example:1080", proxy)
        compiled = compile(source, str(page), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        result = eval(compiled, namespace)
        if inspect.iscoroutine(result):
            asyncio.run(result)


@pytest.fixture(autouse=True)
def log_level_is_kept() -> Iterator[None]:
    """Restore the level of pyk's logger: a page shows how to log every request."""
    logger = logging.getLogger("pyk")
    level = logger.level
    yield
    logger.setLevel(level)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[pytest.mark.spark] * (page.name in NEEDS_SPARK))
        for page in PAGES
        if snippets(page)
    ],
)
def test_the_snippets_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with Cluster() as cluster, ForwardProxy(login=("alice", "secret")) as proxy:
        run(page, cluster.bootstrap, f"127.0.0.1:{proxy.port}")


def test_the_pages_about_groups_run_one_after_the_other_on_one_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with Cluster() as cluster:
        for name in ABOUT_GROUPS:
            run(ROOT / "docs" / f"{name}.md", cluster.bootstrap, "no proxy")
