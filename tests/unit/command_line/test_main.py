"""The ``pyk`` command itself."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from pyk.command_line.main import main
from pyk.protocol import __version__


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_it_prints_its_version(option: str) -> None:
    told = CliRunner().invoke(main, [option])

    assert (told.exit_code, told.output) == (0, f"pyk, version {__version__}\n")


def test_its_help_lists_the_commands() -> None:
    told = CliRunner().invoke(main, ["--help"])

    assert told.exit_code == 0
    assert "Run a broker for development and tests." in told.output


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("brokr", "'brokr' is not a command; did you mean 'broker'?"),
        ("dumplog", "did you mean 'dump-log'?"),
        ("lag", "did you mean 'pyk group lag GROUP'?"),
        ("topics", "did you mean 'pyk topic list'?"),
        ("ticket", "'ticket' is not a command; use one of acl, broker, "),
    ],
)
def test_the_error_for_an_unknown_command_suggests_the_nearest_or_lists_all(
    given: str, words: str
) -> None:
    told = CliRunner().invoke(main, [given])

    assert told.exit_code == 2
    assert words in told.output


def test_json_is_asked_for_before_a_command_that_needs_no_cluster() -> None:
    before = CliRunner().invoke(main, ["--json", "decode", "HeartbeatResponse", "0", "0000"])
    after = CliRunner().invoke(main, ["decode", "--json", "HeartbeatResponse", "0", "0000"])

    assert before.output == after.output == '{"errorCode":0}\n'


NO_TEXT = "\udcff"  # what Python makes of the byte 0xff among the arguments


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["topic", "create", NO_TEXT], "NAMES..."),
        (["topic", "create", "orders", "-c", f"a={NO_TEXT}"], "-c"),
        (["group", "describe", NO_TEXT], "GROUP"),
        (["consume", "orders", "--group", NO_TEXT], "--group"),
        (["consume", "orders", "--header", NO_TEXT], "--header"),
        (["produce", "orders", "-H", f"{NO_TEXT}=a"], "-H"),
        (["acl", "list", "-p", NO_TEXT], "-p"),
        (["-b", NO_TEXT, "topic", "list"], "-b"),
        (["topic", "list", "-X", f"client.id={NO_TEXT}"], "-X"),
        (["copy", "orders", NO_TEXT], "TARGET"),
        (["broker", "--sasl", f"{NO_TEXT}=x"], "--sasl"),
        (["broker", "--advertise", f"{NO_TEXT}:1"], "--advertise"),
    ],
)
def test_arguments_that_are_no_text_are_refused(words: list[str], option: str) -> None:
    ran = CliRunner().invoke(main, words)

    assert ran.exit_code == 2
    assert ran.stderr.startswith("error: Invalid value for ")
    assert option in ran.stderr
    assert "is not UTF-8" in ran.stderr


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("-b", "pyk"),
        ("topic -b", "pyk topic"),
        ("topic list -b", "pyk topic list"),
        ("consume orders --from", "pyk consume"),
        ("copy orders other --to-bootstrap", "pyk copy"),
        ("broker --port", "pyk broker"),
        ("decode --api", "pyk decode"),
        ("dump-log --max-bytes", "pyk dump-log"),
        ("completion --x", "pyk completion"),
    ],
)
def test_the_error_for_a_missing_value_leads_to_the_help_of_the_command(
    words: str, command: str
) -> None:
    ran = CliRunner().invoke(main, words.split())

    assert ran.exit_code == 2
    assert ran.stderr.endswith(f"(see {command} --help)\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("-L", "No such option '-L'; what kcat does with -L, pyk cluster and pyk topic list do"),
        ("-C -t orders", "what kcat does with -C, pyk consume TOPIC does"),
        ("consume -t orders", "No such option '-t'; the topic is an argument here"),
        ("consume orders -o beginning", "it is --from here: earliest, latest, an offset"),
        ("consume orders -e", "it stops at the end of the log unless --follow is given"),
        ("consume --bootstrap-server x:1 orders", "'--bootstrap-server'; it is -b here"),
        ("produce orders -l", "files are arguments here, and a line is a record"),
        ("dump-log --files a.log", "No such option '--files'; files are arguments here"),
        ("broker -b localhost:9092", "the address to listen on is --host and --port here"),
        ("consume orders -n x", "'x' is not a whole number (see"),
        ("consume orders -p 0,1", "'0,1' is not a whole number (see"),
        ("produce orders --rate x", "'x' is not a number (see"),
        ("topic ls", "did you mean 'list'?"),
        ("topic rm orders", "did you mean 'delete'?"),
        ("config get topic orders", "did you mean 'show'?"),
    ],
)
def test_what_other_tools_call_differently_is_explained(words: str, told: str) -> None:
    ran = CliRunner().invoke(main, words.split())

    assert ran.exit_code == 2
    assert told in ran.stderr
