"""What light commands do not spend time on."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pyk.reference_broker import Cluster

COUNT_SEARCHES = """
import gc, sys
from pyk.command_line.start import start

gc.collect()
searches = []
gc.callbacks.append(lambda phase, info: searches.append(phase))
sys.argv = {arguments}
try:
    start()
except SystemExit as ended:
    code = ended.code
assert code == 0, code
print(len(searches), gc.get_freeze_count() > len(gc.get_objects()))
"""


@pytest.mark.parametrize("words", ["topic list", "group list", "cluster"])
def test_a_light_command_never_searches_for_garbage(words: str) -> None:
    with Cluster() as cluster:
        arguments = ["pyk", *words.split(), "-b", cluster.bootstrap]
        program = COUNT_SEARCHES.format(arguments=arguments)
        ended = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )

    assert ended.stdout.splitlines()[-1] == "0 True"
