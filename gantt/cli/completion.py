"""``gantt completion``: scripts that let a shell complete the command line.

The shell asks the program itself at each Tab, by click's own protocol, so that a script
stays right when commands and options change.
"""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import get_completion_class

from gantt.cli.output import say

PROGRAMS: Final = (
    "gantt",
    "gantt-agent",
    "gantt-launch",
    "gantt-manage",
    "gantt-status",
)


@click.command("completion")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.option(
    "--program",
    "programs",
    multiple=True,
    type=click.Choice(PROGRAMS),
    help="Only for this program, as shells want it that load a file for each. May be "
    "repeated. Default: all.",
)
def completion(shell: str, programs: tuple[str, ...]) -> None:
    """Print the script that completes gantt and the programs beside it in a SHELL.

    \b
    bash:  eval "$(gantt completion bash)"     in ~/.bashrc
    zsh:   eval "$(gantt completion zsh)"      in ~/.zshrc, after compinit
    fish:  gantt completion fish | source      in ~/.config/fish/config.fish

    \b
    Example:
      gantt completion bash --program gantt
    """
    kind = get_completion_class(shell)
    assert kind is not None
    for name in programs or PROGRAMS:
        variable = f"_{name.replace('-', '_').upper()}_COMPLETE"
        script = kind(click.Command(name), {}, name, variable).source()
        say(script.rstrip("\n"))
