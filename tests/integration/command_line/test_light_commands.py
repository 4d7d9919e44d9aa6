"""What light commands do not spend time on, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyk.reference_broker import Cluster
from support.certificates import Authority

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


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def with_tls(authority: Authority) -> Iterator[Cluster]:
    file = authority.write_for_java(authority.issue("127.0.0.1"), "server.pem")
    config = {
        "listeners": "SSL://127.0.0.1:0", "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(file),
    }  # fmt: skip
    with Cluster(config=config) as cluster:
        cluster.create_topic("orders")
        yield cluster


def topic_list(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pyk.command_line", "topic", "list", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_tls_is_there_for_an_option_a_file_and_a_profile(
    with_tls: Cluster, authority: Authority, tmp_path: Path
) -> None:
    address, trusted = ("-b", with_tls.bootstrap), authority.file
    properties = tmp_path / "client.properties"
    properties.write_text(f"security.protocol=SSL\nssl.cafile={trusted}\n")
    profiles = tmp_path / "config.toml"
    profiles.write_text(
        "default = 'tls'\n[profiles.tls]\n"
        f"bootstrap_servers = '{with_tls.bootstrap}'\n"
        f"security_protocol = 'SSL'\nssl_cafile = '{trusted}'\n"
    )

    ran = [
        topic_list(*address, "-X", "security.protocol=SSL", "-X", f"ssl.cafile={trusted}"),
        topic_list(*address, "--properties", str(properties)),
        topic_list(PYK_CONFIG=str(profiles)),
        topic_list("--profile", "tls", PYK_CONFIG=str(profiles)),
    ]

    assert [(one.returncode, one.stdout, one.stderr) for one in ran] == [(0, "orders\t1\n", "")] * 4


def test_a_command_without_tls_explains_what_a_listener_with_tls_is(with_tls: Cluster) -> None:
    ran = topic_list("-b", with_tls.bootstrap)

    assert ran.returncode == 3
    assert "security_protocol='SSL'" in ran.stderr
    assert "bug in pyk" not in ran.stderr
