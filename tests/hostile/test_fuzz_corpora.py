"""Run the seeds and the kept inputs of the fuzzer without a fuzzer."""

from __future__ import annotations

import pytest

from hostile.fuzz.engine import seeds_of
from hostile.fuzz.targets import CORPORA, TARGETS, corpus, corpus_name


@pytest.mark.parametrize("name", TARGETS)
def test_no_seed_or_kept_input_makes_a_target_fail(name: str) -> None:
    for seed in seeds_of(name):
        TARGETS[name].run(seed)


def test_every_corpus_has_a_target_and_at_least_one_input() -> None:
    names = {path.stem for path in CORPORA.iterdir()}

    assert names == set(map(corpus_name, TARGETS))
    assert all(map(corpus, names))
