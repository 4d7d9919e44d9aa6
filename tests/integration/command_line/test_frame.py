"""What all commands share: addresses, profiles, output, errors and exit codes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pyk.reference_broker import Cluster
from support.pyk_command import Ran, run, run_on_terminal, start
from support.real_time import IN_TIME

UNUSED = "127.0.0.1:1"


@pytest.fixture
def profiles(kafka: Cluster, tmp_path: Path) -> dict[str, str]:
    """Return the environment of a user with a file of profiles."""
    path = tmp_path / "config.toml"
    path.write_text(
        f'default = "here"\n[profiles.here]\nbootstrap_servers = "{kafka.bootstrap}"\n'
        f'acks = "all"\n[profiles.nowhere]\nbootstrap.servers = "{UNUSED}"\n'
    )
    return {"PYK_CONFIG": str(path)}


def test_the_address_stands_before_or_after_the_command_or_in_the_environment(
    kafka: Cluster,
) -> None:
    b = kafka.bootstrap
    ways = [
        run("-b", b, "topic", "list"),
        run("topic", "-b", b, "list"),
        run("topic", "list", "--bootstrap", b),
        run("-b", UNUSED, "topic", "list", "-b", b),
        run("topic", "list", env={"PYK_BOOTSTRAP": b}),
        run("topic", "list", "-X", f"bootstrap.servers={b}"),
    ]

    assert {way.code for way in ways} == {0}


def test_profiles_name_clusters(profiles: dict[str, str]) -> None:
    assert run("topic", "list", env=profiles).code == 0
    assert run("--profile", "here", "topic", "list", env=profiles).code == 0
    assert run("topic", "list", "--profile", "nowhere", env=profiles).code == 3
    assert run("topic", "list", env={**profiles, "PYK_PROFILE": "nowhere"}).code == 3


def test_the_file_of_profiles_lies_where_configurations_lie(
    profiles: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "pyk").mkdir()
    Path(profiles["PYK_CONFIG"]).rename(tmp_path / "pyk" / "config.toml")

    assert run("topic", "list", env={"XDG_CONFIG_HOME": str(tmp_path)}).code == 0


def test_passwords_are_read_from_where_they_are_kept(tmp_path: Path) -> None:
    (tmp_path / "word").write_text("secret\n")
    with Cluster(sasl={"alice": "secret"}) as cluster:
        options = ("-b", cluster.bootstrap, "-X", "security.protocol=SASL_PLAINTEXT",
                   "-X", "sasl.mechanism=SCRAM-SHA-256", "-X", "sasl.username=alice")  # fmt: skip
        ways = [
            run(
                "topic",
                "list",
                *options,
                "-X",
                f"sasl.password={reference}",
                env={"WORD": "secret"},
            )
            for reference in ("env:WORD", f"file:{tmp_path}/word", "command:printf secret")
        ]
        refused = run("topic", "list", *options, "-X", "sasl.password=wrong")

    assert {way.code for way in ways} == {0}
    assert refused.code == 1
    assert "secret" not in refused.err


def test_a_folder_in_place_of_the_file_of_profiles_is_wrong_usage(tmp_path: Path) -> None:
    ran = run("topic", "list", env={"PYK_CONFIG": str(tmp_path)})

    assert ran.code == 2
    assert ran.err == f"error: the file of profiles cannot be read: {tmp_path}: Is a directory\n"


def test_passwords_that_other_users_can_read_are_warned_of_once(
    kafka: Cluster, tmp_path: Path
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        f'[profiles.a]\nbootstrap_servers = "{kafka.bootstrap}"\n'
        '[profiles.b]\nsasl_password = "x"\n'
    )
    words = ("--profile", "a", "topic", "list", "--internal")

    path.chmod(0o644)
    readable = run(*words, env={"PYK_CONFIG": str(path)})
    path.chmod(0o600)
    private = run(*words, env={"PYK_CONFIG": str(path)})

    assert readable.err == (
        f"warning: other users can read b.sasl_password in {path}: "
        "chmod 600 it, or write env:NAME, file:PATH or command:… instead\n"
    )
    assert (readable.code, private.code, private.err) == (0, 0, "")


def test_a_command_for_a_password_that_fails_is_named() -> None:
    ran = run("cluster", "-b", UNUSED, "-X", "sasl.password=command:false")

    assert (ran.code, ran.err) == (
        2,
        "error: sasl.password: 'command:false' cannot be read: the command ended with status 1\n",
    )


def test_kafkas_files_of_properties_are_read(kafka: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text(f"bootstrap.servers={kafka.bootstrap}\nacks=all\nkey.serializer=a.b.C\n")

    assert run("topic", "list", "--properties", path).code == 0


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (["topic", "list", "-b", UNUSED], 3,
         ("none of the bootstrap servers led to the cluster; 127.0.0.1:1: TCP: connection refused; "
         "is the broker up, and the port right?")),
        (["topic", "list"], 2,
         "no cluster was named: give -b HOST:PORT, set PYK_BOOTSTRAP, or choose a --profile"),
        (["topic", "list", "-b", UNUSED, "-X", "clinet.id=1"], 2,
         "'clinet.id' is not an option; did you mean 'client.id'?"),
        (["topic", "list", "-X", "acks"], 2,
         "Invalid value for '-X': it must be NAME=VALUE, not 'acks' (see pyk topic list --help)"),
        (["topic", "list", "--properties", "/nowhere"], 2,
         "--properties: /nowhere: No such file or directory"),
        (["topic", "lst"], 2,
         "'lst' is not a command; did you mean 'list'? (see pyk topic --help)"),
        (["topic", "list", "--intrnal"], 2,
         "No such option '--intrnal'. Did you mean '--internal'? (see pyk topic list --help)"),
    ],
)  # fmt: skip
def test_an_error_is_one_line_and_an_exit_code(words: list[str], code: int, line: str) -> None:
    ran = run(*words, env={"XDG_CONFIG_HOME": "/nowhere"})

    assert (ran.code, ran.out) == (code, "")
    assert ran.err == f"error: {line}\n"


def test_an_error_on_a_terminal_is_one_line() -> None:
    ran = run_on_terminal("cluster", "-b", UNUSED)

    assert ran.code == 3
    assert "\x1b[31m" in ran.out
    assert ran.lines == [
        (
            "error: none of the bootstrap servers led to the cluster; 127.0.0.1:1: TCP: connection "
            "refused; is the broker up, and the port right?"
        )
    ]


def test_no_colour_is_shown_to_users_who_want_none() -> None:
    assert "\x1b" not in run_on_terminal("cluster", "-b", UNUSED, env={"NO_COLOR": "1"}).out


@pytest.mark.parametrize("wish", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
@pytest.mark.parametrize("words", [["topic", "list"], ["topic", "describe", "o"], ["consume", "o"]])
def test_results_have_no_colour_on_demand(wish: dict[str, str], words: list[str]) -> None:
    with Cluster() as cluster:
        cluster.seed({"o": [("key", "value")]})

        plain = run_on_terminal(*words, "-b", cluster.bootstrap, env=wish)
        coloured = run_on_terminal(*words, "-b", cluster.bootstrap)

    assert "\x1b" not in plain.out
    assert "\x1b" in coloured.out
    assert plain.lines == coloured.lines


@pytest.mark.parametrize("words", [[], ["topic"]])
def test_a_group_without_a_command_prints_its_help(words: list[str]) -> None:
    ran = run(*words)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == run(*words, "--help").out


def test_the_cluster_is_described(kafka: Cluster) -> None:
    host, _, port = kafka.bootstrap.partition(":")
    piped = run("cluster", "-b", kafka.bootstrap)
    (form,) = run("cluster", "--json", "-b", kafka.bootstrap).json
    shown = run_on_terminal("cluster", "-b", kafka.bootstrap)

    assert form["brokers"] == [
        {"id": 0, "host": host, "port": int(port), "rack": None, "isController": True}
    ]
    cluster_id = form["clusterId"]
    assert piped.lines == [
        f"Cluster id\t{cluster_id}",
        "Controller id\t0",
        f"0\t{host}\t{port}\t-\tyes",
    ]
    assert shown.lines == [
        f"Cluster id     {cluster_id}",
        "Controller id  0",
        f"Broker  Host       {'Port':>{len(port)}}  Rack  Controller",
        f"     0  {host}  {port:>4}  -     yes",
    ]


@pytest.mark.parametrize("columns", ["1", "8", "20"])
def test_a_table_keeps_its_titles_where_the_terminal_is_narrow(columns: str) -> None:
    with Cluster() as cluster:
        cluster.create_topic("orders-of-last-year", partitions=3)
        words = ["topic", "list", "-b", cluster.bootstrap]
        shown = run_on_terminal(*words, env={"COLUMNS": columns})

    assert shown.lines[0].split() == ["Topic", "Partitions"]
    assert "".join(line.split()[0] for line in shown.lines[1:]) == "orders-of-last-year"
    assert shown.lines[1].split()[1] == "3"


@pytest.mark.parametrize(
    "words", ["produce orders", "perf produce orders", "perf latency orders", "copy orders other"]
)
def test_a_producer_with_transactions_is_refused(kafka: Cluster, words: str) -> None:
    given = ["-X", "transactional.id=app", "-b", kafka.bootstrap]

    ran = run(*words.split(), *given)

    problem = "error: this command sends without transactions; leave out transactional.id\n"
    assert ran == Ran(2, "", problem)


@pytest.mark.parametrize("words", [["--help"], ["topic", "create", "--help"]])
def test_an_output_that_is_closed_ends_the_command_quietly(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with start(*words) as process:
        process.communicate(timeout=IN_TIME)
    piped = subprocess.run(
        process.args, stdout=writing, stderr=subprocess.PIPE, check=False, timeout=IN_TIME
    )
    os.close(writing)

    assert (process.returncode, piped.returncode, piped.stderr) == (0, 0, b"")


def test_ctrl_c_ends_a_command_without_a_traceback(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "word")  # nobody writes into it, so the command waits
    with start("cluster", "-b", UNUSED, "-X", f"sasl.password=file:{tmp_path}/word") as process:
        writing = os.open(tmp_path / "word", os.O_WRONLY)  # returns once the command reads
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=IN_TIME)
        os.close(writing)

    assert (process.returncode, out, err) == (130, b"", b"\n")


@pytest.mark.parametrize(
    ("words", "closed", "code"),
    [
        ("topic list", ">&-", 1),
        ("topic list", "2>&-", 0),
        ("consume orders", ">&-", 1),
        ("produce orders", "<&-", 1),
        ("produce orders < /dev/null", ">&-", 0),
        ("topic list", "> /dev/full", 1),
    ],
)
def test_a_stream_that_is_closed_or_full_is_told(words: str, closed: str, code: int) -> None:
    with Cluster() as cluster:
        cluster.seed({"orders": [b"one"]})
        program = f"{sys.executable} -m pyk.command_line -b {cluster.bootstrap} {words} {closed}"
        done = subprocess.run(["sh", "-c", program], capture_output=True, text=True, check=False)

    assert done.returncode == code
    if code:
        reason = (
            "standard output: No space left on device"
            if "full" in closed
            else "output or input is closed"
        )
        assert reason in done.stderr
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("shell", "word"), [("bash", "complete"), ("zsh", "compdef"), ("fish", "complete")]
)
def test_completions_are_printed_for_shells(shell: str, word: str) -> None:
    ran = run("completion", shell)

    assert ran.code == 0
    assert word in ran.out


def test_a_shell_completes_commands_and_profiles(profiles: dict[str, str]) -> None:
    def completed(line: str) -> list[str]:
        env = {**profiles, "_PYK_COMPLETE": "bash_complete", "COMP_WORDS": line,
               "COMP_CWORD": str(len(line.split()) - 1)}  # fmt: skip
        with start(env=env) as process:
            out, _ = process.communicate(timeout=IN_TIME)
        return out.decode().split()

    assert completed("pyk top") == ["plain,topic"]
    assert completed("pyk cluster --profile no") == ["plain,nowhere"]
