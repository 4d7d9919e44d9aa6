"""Suggest what a user meant by a misspelt word, or by a word of another tool. Pure."""

from __future__ import annotations

from collections.abc import Iterable

ELSEWHERE = {
    "acls": "pyk acl",
    "brokers": "pyk cluster",
    "configs": "pyk config",
    "console-consumer": "pyk consume TOPIC",
    "console-producer": "pyk produce TOPIC",
    "consumer": "pyk consume TOPIC",
    "consumer-groups": "pyk group",
    "get-offsets": "pyk topic records TOPIC",
    "groups": "pyk group list",
    "health": "pyk doctor",
    "lag": "pyk group lag GROUP",
    "ls": "pyk topic list",
    "metadata": "pyk cluster",
    "mirror": "pyk copy SOURCE TARGET",
    "node": "pyk cluster",
    "nodes": "pyk cluster",
    "producer": "pyk produce TOPIC",
    "profile": "pyk --profile NAME",
    "query": "pyk consume TOPIC",
    "quotas": "pyk quota",
    "topics": "pyk topic list",
    "transactions": "pyk transaction",
    "users": "pyk user",
}
"""What names of commands in other tools are here."""

ELSEWHERE_BY_GROUP = {
    "pyk": ELSEWHERE,
    "pyk topic": {
        "add-partitions": "pyk topic alter TOPIC -p COUNT",
        "alter-config": "pyk topic alter TOPIC -c NAME=VALUE",
        "consume": "pyk consume TOPIC",
        "delete-records": "pyk topic records TOPIC --delete-before WHEN",
        "produce": "pyk produce TOPIC",
        "trim-prefix": "pyk topic records TOPIC --delete-before WHEN",
    },
}

SYNONYMS = {
    "add": ("create", "set"),
    "alter": ("set",),
    "describe": ("show",),
    "get": ("show", "describe", "list"),
    "info": ("describe", "show"),
    "ls": ("list",),
    "new": ("create",),
    "offsets": ("records", "lag"),
    "remove": ("delete", "unset"),
    "rm": ("delete", "unset"),
    "seek": ("reset",),
    "show": ("describe", "list"),
    "update": ("alter", "set"),
}
"""What people call the commands of a group elsewhere."""

OF_ALL_COMMANDS = {
    "--bootstrap-server": "it is -b here",
    "--bootstrap-servers": "it is -b here",
    "--broker-list": "it is -b here",
    "--brokers": "it is -b here",
    "--command-config": "it is --properties here",
}
OF_TOPICS = ("pyk consume", "pyk copy", "pyk perf", "pyk produce", "pyk topic")
"""The commands, and groups of commands, whose topic is an argument."""
WITHOUT_CLUSTER = ("pyk broker", "pyk completion", "pyk decode", "pyk dump-log")
"""The commands that connect to no cluster, so they have no -b."""
GROUP_IS_ARGUMENT = {"--group": "the group is an argument here"}
OPTIONS = {
    "pyk": {
        "-C": "what kcat does with -C, pyk consume TOPIC does",
        "-G": "what kcat does with -G, pyk consume TOPIC --group GROUP does",
        "-L": "what kcat does with -L, pyk cluster and pyk topic list do",
        "-P": "what kcat does with -P, pyk produce TOPIC does",
        "-Q": "what kcat does with -Q, pyk topic records TOPIC does",
        "-t": "the topic is an argument, as in pyk consume TOPIC",
    },
    "pyk consume": {
        "--from-beginning": "it reads from the beginning unless --from says otherwise",
        "--max-messages": "it is -n here",
        "--formatter": "it is -f here, as in -f '%k:%s\\n'",
        "--num": "it is -n here",
        "--offset": "it is --from here",
        "--property": "print keys and more with -f, as in -f '%k:%s\\n'",
        "--tail": "the last N of each partition are --from -N here",
        "--timeout-ms": "it stops at the end of the log unless --follow is given",
        "-C": "pyk consume needs no -C",
        "-J": "it is --json here",
        "-K": "print keys with -f '%k:%s\\n'",
        "-c": "it is -n here",
        "-e": "it stops at the end of the log unless --follow is given",
        "-o": "it is --from here: earliest, latest, an offset, -N or a time",
        "-q": "it prints records only, unless something fails",
        "-u": "it prints each record at once where a terminal is, and when all are read",
    },
    "pyk broker": {
        "-b": "the address to listen on is --host and --port here",
        "--bootstrap": "the address to listen on is --host and --port here",
        "--override": "it is --config NAME=VALUE here",
        "--property": "it is --config NAME=VALUE here",
    },
    "pyk dump-log": {"--files": "files are arguments here"},
    "pyk group delete": GROUP_IS_ARGUMENT,
    "pyk group describe": GROUP_IS_ARGUMENT,
    "pyk group lag": GROUP_IS_ARGUMENT,
    "pyk group reset": {
        **GROUP_IS_ARGUMENT,
        "--all-topics": "it is for all topics unless --topic is given",
        "--by-duration": "it is --to here, as in --to 15m",
        "--execute": "it does so unless --dry-run is given",
        "--to-datetime": "it is --to here, as in --to 2026-03-01T12:00",
        "--to-earliest": "it is --to earliest here",
        "--to-latest": "it is --to latest here",
        "--to-offset": "it is --to here, as in --to 42",
    },
    "pyk produce": {
        "--property": "split key and value with -K SEPARATOR",
        "-P": "pyk produce needs no -P",
        "-Z": "it is --null '' here",
        "-l": "files are arguments here, and a line is a record",
    },
}
"""What options of other tools are here: kcat's, and those of Kafka's scripts."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``did you mean 'topic'?`` for the nearest known word, or nothing."""
    from difflib import get_close_matches  # only a mistake needs it

    by_folded = {each.casefold(): each for each in known}
    near = get_close_matches(word.casefold(), by_folded, n=1)
    return f"did you mean {by_folded[near[0]]!r}?" if near else ""


def command_advice(word: str, group: str, known: Iterable[str]) -> str:
    """Return what an unknown command of a group may have meant, or nothing."""
    if (meant := ELSEWHERE_BY_GROUP.get(group, {}).get(word)) is not None:
        return f"did you mean {meant!r}?"
    names = list(known)
    for synonym in SYNONYMS.get(word, ()):
        if synonym in names:
            return f"did you mean {synonym!r}?"
    return did_you_mean(word, names)


def option_advice(option: str, command: str, known: Iterable[str] = ()) -> str:
    """Return what an option of another tool is in a command, or nothing.

    ``known`` are the commands of a group: Kafka's scripts have ``--list`` for ``list``.
    """
    if option.removeprefix("--") in known:
        return f"that is a command here: {command} {option.removeprefix('--')}"
    if option in {"--topic", "-t"} and command.startswith(OF_TOPICS):
        return "the topic is an argument here"
    if (advice := OPTIONS.get(command, {}).get(option)) is not None:
        return advice
    return "" if command in WITHOUT_CLUSTER else OF_ALL_COMMANDS.get(option, "")
