"""The arguments of a cluster: what it cannot be made of is refused by the argument's name."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.reference_broker import AsyncCluster, Cluster

WRONG_TYPES = [
    ({"brokers": "x"}, "brokers must be an int, not 'x'"),
    ({"brokers": True}, "brokers must be an int, not True"),
    ({"data_dir": 5}, "data_dir must be a path, or a list of paths, not 5"),
    ({"data_dir": b"x"}, "data_dir must be a path, or a list of paths, not b'x'"),
    ({"data_dir": [5]}, r"data_dir must be a path, or a list of paths, not \[5\]"),
    ({"log_dirs": "x"}, "log_dirs must be an int, not 'x'"),
    ({"log_dirs": None}, "log_dirs must be an int, not None"),
    ({"log_dirs": True}, "log_dirs must be an int, not True"),
    ({"config": {5: "x"}}, "config: the name of a configuration must be a str, not 5"),
    ({"host": 5}, "host must be a str, not 5"),
    ({"port": "9092"}, "port must be an int, not '9092'"),
    ({"advertise": 5}, "advertise must be a str, not 5"),
    ({"advertise": ["a"]}, r"advertise must be a str, not \['a'\]"),
    ({"super_users": 5}, "super_users must be a list of names, not 5"),
    ({"super_users": [5], "tls": True}, r"super_users must be a list of names, not \[5\]"),
    ({"clock": 5}, "clock must be a Clock, not 5"),
    ({"filesystem": "/tmp"}, "filesystem must be a FileSystem, not '/tmp'"),
]
WRONG_VALUES = [
    ({"data_dir": ""}, "data_dir: the name of a folder is empty"),
    ({"data_dir": "a\0b"}, r"data_dir: 'a\\x00b' has a NUL, which no path has"),
    ({"log_dirs": 0}, "log_dirs=0: use a number from 1 on"),
    ({"config": {"log.dirs": ""}}, "log.dirs names no folder"),
    ({"host": "localhost:9092"}, "host: 'localhost:9092' has a port: give it as port="),
    ({"host": ""}, "host is empty"),
    ({"port": -1}, "port must be 0 or more, not -1"),
    ({"port": 70_000}, "port must be at most 65535, not 70000"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG_TYPES)
def test_an_argument_of_a_wrong_type_is_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        Cluster(**arguments)


@pytest.mark.parametrize(("arguments", "words"), WRONG_VALUES)
def test_an_argument_that_no_cluster_can_have_is_refused(
    arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        Cluster(**arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"network": 5}, "network must be a Network, not 5"),
        ({"random": 5}, "random must be a Random, not 5"),
    ],
)
def test_what_only_an_async_cluster_takes_is_checked_too(
    arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(TypeError, match=words):
        AsyncCluster(**arguments)


def test_names_that_calls_take_must_be_str() -> None:
    with Cluster() as cluster:
        with pytest.raises(TypeError, match="the name of a topic must be a str, not None"):
            cluster.create_topic(None)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="listener must be a str, not "):
            cluster.client_options(listener=["HOST"])  # type: ignore[arg-type]


def test_an_address_that_cannot_be_opened_is_named() -> None:
    with pytest.raises(OSError, match=r".") as raised, Cluster(host="256.0.0.1"):
        pass

    assert raised.value.__notes__ == ["listener PLAINTEXT cannot listen on 256.0.0.1:0"]
