"""``pyk broker`` with users and certificates, as its users see it."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from pyk.clients import Admin, Plain, Producer, SaslAuthenticationFailedError
from support.broker_process import COMMAND, BrokerProcess


def run(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, "--port", "0", *options],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
        env={**os.environ, "PYK_PASSWORD_EMPTY": ""},
    )


@pytest.mark.parametrize("options", [("--tls",), ("--sasl", 'alice=ca"n\\ äry=;')])
def test_clients_connect_by_the_file_that_it_writes(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    path = tmp_path / "client.properties"
    with (
        BrokerProcess(tmp_path / "data", *options, "--client-properties", str(path)),
        Producer.from_properties(path) as producer,
    ):
        written = producer.send_and_wait("orders", b"one")

    assert written.offset == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_passwords_come_from_files_and_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of-a-file\n")
    monkeypatch.setenv("PYK_PASSWORD_BOB", "of-the-environment")

    with BrokerProcess(tmp_path / "data", "--sasl", f"alice=@{secret}", "--sasl", "bob") as broker:
        for user, password in (("alice", "of-a-file"), ("bob", "of-the-environment")):
            with Admin(
                broker.bootstrap, security_protocol="SASL_PLAINTEXT", auth=Plain(user, password)
            ) as admin:
                assert admin.describe_cluster().nodes
        with (
            pytest.raises(SaslAuthenticationFailedError),
            Admin(broker.bootstrap, security_protocol="SASL_PLAINTEXT", auth=Plain("bob", "other")),
        ):
            pass


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--sasl", "=canary"], "it must be USER=PASSWORD, USER=@FILE or USER"),
        (["--sasl", "alice="], "the password of 'alice' is empty"),
        (["--sasl", "empty"], "the password of 'empty' is empty"),
        (["--sasl", "alice"], "set PYK_PASSWORD_ALICE, or use alice=PASSWORD or alice=@FILE"),
        (["--sasl", "al-ice"], "no variable of the environment can be for 'al-ice'"),
        (["--sasl", "a=canary", "--sasl", "a=canary"], "user 'a' is given twice"),
        (["--sasl", "a=@/no/such/file"], "cannot be read from '/no/such/file': No such file"),
        (["--super-user", "alice"], "passwords of users by sasl="),
        (
            ["--client-properties", "/no/such/folder/file"],
            "--client-properties: cannot write '/no/such/folder/file': No such file",
        ),
    ],
)
def test_a_failed_start_is_explained_in_one_line(options: list[str], words: str) -> None:
    failed = run(*options)

    assert failed.returncode != 0
    assert failed.stdout == ""
    assert words in failed.stderr.replace("\n", " ")
    assert "Traceback" not in failed.stderr
    assert "canary" not in failed.stderr
