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
    "groups": "pyk group list",
    "lag": "pyk group lag GROUP",
    "metadata": "pyk cluster",
    "node": "pyk cluster",
    "nodes": "pyk cluster",
    "producer": "pyk produce TOPIC",
    "query": "pyk consume TOPIC",
    "quotas": "pyk quota",
    "topics": "pyk topic list",
    "transactions": "pyk transaction",
    "users": "pyk user",
}
"""What names of commands in other tools are here."""

SYNONYMS = {
    "add": ("create", "set"),
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
    "--topic": "the topic is an argument here",
    "-t": "the topic is an argument here",
}
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
        "--offset": "it is --from here",
        "--timeout-ms": "it stops at the end of the log unless --follow is given",
        "-C": "pyk consume needs no -C",
        "-J": "it is --json here",
        "-K": "print keys with -f '%k:%s\\n'",
        "-c": "it is -n here",
        "-e": "it stops at the end of the log unless --follow is given",
        "-o": "it is --from here: earliest, latest, an offset, -N or a time",
    },
    "pyk produce": {
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
    if group == "pyk" and word in ELSEWHERE:
        return f"did you mean {ELSEWHERE[word]!r}?"
    names = list(known)
    for synonym in SYNONYMS.get(word, ()):
        if synonym in names:
            return f"did you mean {synonym!r}?"
    return did_you_mean(word, names)


def option_advice(option: str, command: str) -> str:
    """Return what an option of another tool is in a command, or nothing."""
    return OPTIONS.get(command, {}).get(option) or OF_ALL_COMMANDS.get(option, "")
