"""What users of other tools type, and what they are told."""

from __future__ import annotations

import pytest

from pyk.command_line.frame.suggestions import command_advice, did_you_mean, option_advice


@pytest.mark.parametrize(
    ("group", "word", "known", "advice"),
    [
        ("pyk", "topics", ["topic"], "did you mean 'pyk topic list'?"),
        ("pyk", "ls", ["topic"], "did you mean 'pyk topic list'?"),
        ("pyk", "health", ["topic"], "did you mean 'pyk doctor'?"),
        ("pyk", "profile", ["topic"], "did you mean 'pyk --profile NAME'?"),
        ("pyk topic", "consume", ["list"], "did you mean 'pyk consume TOPIC'?"),
        ("pyk topic", "trim-prefix", ["records"],
         "did you mean 'pyk topic records TOPIC --delete-before WHEN'?"),
        ("pyk config", "alter", ["set", "show"], "did you mean 'set'?"),
        ("pyk config", "describe", ["set", "show"], "did you mean 'show'?"),
        ("pyk group", "seek", ["reset"], "did you mean 'reset'?"),
        ("pyk group", "lst", ["list"], "did you mean 'list'?"),
        ("pyk group", "zzz", ["list"], ""),
    ],
)  # fmt: skip
def test_commands_of_other_tools_are_understood(
    group: str, word: str, known: list[str], advice: str
) -> None:
    assert command_advice(word, group, known) == advice


@pytest.mark.parametrize(
    ("command", "option", "advice"),
    [
        ("pyk consume", "-o", "it is --from here: earliest, latest, an offset, -N or a time"),
        ("pyk consume", "--property", "print keys and more with -f, as in -f '%k:%s\\n'"),
        ("pyk produce", "--property", "split key and value with -K SEPARATOR"),
        ("pyk group reset", "--to-earliest", "it is --to earliest here"),
        ("pyk group describe", "--group", "the group is an argument here"),
        ("pyk perf produce", "--bootstrap-server", "it is -b here"),
        ("pyk perf produce", "--zzz", ""),
        ("pyk perf produce", "--topic", "the topic is an argument here"),
        ("pyk topic describe", "-t", "the topic is an argument here"),
        ("pyk group delete", "-t", ""),
        ("pyk cluster", "--topic", ""),
        ("pyk dump-log", "--files", "files are arguments here"),
        ("pyk dump-log", "--bootstrap-server", ""),
        ("pyk broker", "-b", "the address to listen on is --host and --port here"),
        ("pyk broker", "--override", "it is --config NAME=VALUE here"),
        ("pyk group list", "--type", ""),
    ],
)
def test_options_of_other_tools_are_understood(command: str, option: str, advice: str) -> None:
    assert option_advice(option, command) == advice


def test_an_option_that_is_a_command_here_is_told() -> None:
    advice = option_advice("--list", "pyk topic", ["create", "list"])

    assert advice == "that is a command here: pyk topic list"


def test_case_does_not_matter_for_likeness() -> None:
    assert did_you_mean("metadatrequest", ["MetadataRequest"]) == "did you mean 'MetadataRequest'?"
