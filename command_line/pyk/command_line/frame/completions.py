"""Complete the names of topics and groups, while a command line is typed.

A shell waits for the answer, and shows what is printed in the middle of the line: so this ends
soon, and says nothing of what goes wrong.
"""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from pyk.command_line.frame.commands import settings_of

if TYPE_CHECKING:
    from pyk.clients import Admin

SECONDS = 2.0
"""How long a cluster is asked for names."""


def complete_topics(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return the topics that begin so."""
    with contextlib.suppress(Exception), _admin(context) as admin:
        names = admin.list_topics(internal=incomplete.startswith("_"), timeout=SECONDS)
        return _fitting(names, context, parameter, incomplete)
    return []


def complete_groups(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return the groups that begin so."""
    with contextlib.suppress(Exception), _admin(context) as admin:
        names = (one.group_id for one in admin.list_groups(timeout=SECONDS))
        return _fitting(names, context, parameter, incomplete)
    return []


def complete_resources(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return what begins so of the kind that the argument before it names."""
    kinds = {"topic": complete_topics, "group": complete_groups}
    complete = kinds.get(context.params.get("kind", ""))
    return [] if complete is None else complete(context, parameter, incomplete)


def _fitting(
    names: Iterable[str], context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return names that fit and are not given yet; shells would split those with white space."""
    given = context.params.get(parameter.name or "") if parameter.nargs == -1 else None
    return sorted(
        name
        for name in names
        if name.startswith(incomplete)
        and name not in (given or ())
        and not any(map(str.isspace, name))
    )


@contextlib.contextmanager
def _admin(context: click.Context) -> Iterator[Admin]:
    """Give an admin client of the cluster that the command line names so far."""
    from pyk.command_line.frame.connecting import admin

    logging.disable()
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            client = admin(settings_of(context))
            client.start(SECONDS)
            try:
                yield client
            finally:
                client.close(0.5)
    finally:
        logging.disable(logging.NOTSET)
