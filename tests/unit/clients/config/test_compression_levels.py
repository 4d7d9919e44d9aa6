"""Which levels each codec takes: one that it does not would fail when a batch is compressed."""

from __future__ import annotations

import pytest

from pyk.clients import ConfigurationError
from pyk.clients.config import ProducerConfig
from pyk.clients.config.producer_config import COMPRESSION_LEVELS
from pyk.protocol.records.compression import Compression, compress


def config(codec: str, level: int) -> ProducerConfig:
    return ProducerConfig.from_kwargs("one:9092", compression_type=codec, compression_level=level)


@pytest.mark.parametrize(
    ("codec", "level"), [("gzip", 10), ("gzip", -2), ("lz4", 18), ("lz4", -65_538), ("zstd", 23)]
)
def test_a_level_that_the_codec_does_not_have_is_refused(codec: str, level: int) -> None:
    with pytest.raises(ConfigurationError, match=f"compression_level={level} .*{codec}"):
        config(codec, level)


@pytest.mark.parametrize("codec", ["gzip", "lz4", "zstd"])
def test_every_level_that_is_accepted_compresses(codec: str) -> None:
    levels = COMPRESSION_LEVELS[codec]
    for level in {levels[0], *range(-2, levels[-1] + 1)} & set(levels):
        assert config(codec, level).compression_level == level
        assert compress(Compression(codec), b"x" * 1_000, level)


@pytest.mark.parametrize("codec", ["none", "snappy"])
def test_a_codec_without_levels_ignores_one(codec: str) -> None:
    assert config(codec, 99).compression_level == 99
