"""Options of consumers that do not apply to share groups are refused, with what to do instead."""

from __future__ import annotations

import pytest

from pyk.clients.config import ShareConsumerConfig
from pyk.clients.config.share_consumer_config import REFUSED
from pyk.clients.errors import ConfigurationError

SERVERS = "kafka1:9092"


@pytest.mark.parametrize("name", REFUSED)
def test_an_option_that_does_not_apply_is_refused_by_either_name(name: str) -> None:
    dotted = name.replace("_", ".")

    with pytest.raises(ConfigurationError, match=f"do not apply to share groups: {name}: "):
        ShareConsumerConfig.from_kwargs(SERVERS, group_id="g", **{name: "any"})
    with pytest.raises(ConfigurationError, match=f"do not apply to share groups: {dotted}: "):
        ShareConsumerConfig.from_properties(
            {"bootstrap.servers": SERVERS, "group.id": "g", dotted: "any"}
        )


def test_where_a_group_begins_is_a_config_of_the_group() -> None:
    with pytest.raises(ConfigurationError, match=r"config share\.auto\.offset\.reset of the group"):
        ShareConsumerConfig.from_kwargs(SERVERS, group_id="g", auto_offset_reset="earliest")


def test_a_share_consumer_needs_a_group() -> None:
    with pytest.raises(ConfigurationError, match="the name of the share group"):
        ShareConsumerConfig.from_kwargs(SERVERS)


def test_a_fetch_must_be_answered_before_it_times_out() -> None:
    with pytest.raises(ConfigurationError, match="every fetch would time out"):
        ShareConsumerConfig.from_kwargs(SERVERS, group_id="g", fetch_max_wait_ms=30_000)


def test_modes_are_known_by_kafkas_names() -> None:
    config = ShareConsumerConfig.from_properties(
        {
            "bootstrap.servers": SERVERS,
            "group.id": "g",
            "share.acknowledgement.mode": "explicit",
            "share.acquire.mode": "record_limit",
        }
    )

    assert config.is_explicit
    assert config.limits_records
    with pytest.raises(ConfigurationError, match="'implicit' or 'explicit'"):
        ShareConsumerConfig.from_kwargs(SERVERS, group_id="g", share_acknowledgement_mode="auto")
