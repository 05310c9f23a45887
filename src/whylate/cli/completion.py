"""`whylate completion`: the script that makes a shell complete verbs and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command(name="completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the completion script for SHELL.

    \b
      bash: whylate completion bash > ~/.local/share/bash-completion/completions/whylate
      zsh:  whylate completion zsh  > "${fpath[1]}/_whylate"
      fish: whylate completion fish > ~/.config/fish/completions/whylate.fish
    """  # noqa: D301 (it is a backspace, by which click keeps lines)
    maker = get_completion_class(shell)
    assert maker is not None  # noqa: S101 - the choice is limited to what there is
    root = context.find_root().command
    click.echo(maker(root, {}, "whylate", "_WHYLATE_COMPLETE").source())
