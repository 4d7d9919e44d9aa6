"""``pyk completion``: the completion of commands for a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from pyk.command_line.frame.commands import PlainCommand


@click.command(cls=PlainCommand)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion of commands for a shell.

    Put  eval "$(pyk completion bash)"  into ~/.bashrc, the same with zsh into ~/.zshrc, or
    pyk completion fish | source  into ~/.config/fish/config.fish.
    """
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(context.find_root().command, {}, "pyk", "_PYK_COMPLETE").source())
