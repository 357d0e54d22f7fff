"""The command line as it is typed, in a terminal of tmux's: Tab in each shell, mistyped words, colours."""

import pathlib
import shutil

import pytest
from conftest import BERTH
from test_top import PROMPT, terminal_of  # noqa: F401  (terminal_of is a fixture)

BEGUN = {
    "bash": ["source <(berth completion bash)"],
    "zsh": ["mkdir -p $HOME/f; berth completion zsh >$HOME/f/_berth", f"exec env PS1='{PROMPT}' zsh -f",
            "fpath=($HOME/f $fpath); autoload -U compinit; compinit -D"],
    "fish": ["exec fish --no-config", "function fish_prompt; echo -n '" + PROMPT + "'; end; berth completion fish | source"],
}  # fmt: skip


def typing(machine, terminal_of, **changes):  # noqa: F811
    return terminal_of(machine, 110, 40, PATH=f"{pathlib.Path(BERTH).parent}:{machine.env['PATH']}", **changes)


@pytest.mark.parametrize("shell", BEGUN)
def test_tab_completes_verbs_and_options(machine, terminal_of, shell):  # noqa: F811
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    terminal = typing(machine, terminal_of)
    for line in BEGUN[shell]:
        terminal.shell(line)
    terminal.shell("echo rea''dy")
    terminal.until("ready")
    terminal.type("berth docto")
    terminal.press("Tab")
    terminal.until("berth doctor")
    terminal.type("--gpu-t")
    terminal.press("Tab")
    terminal.until("berth doctor --gpu-test")


def test_what_was_mistyped_is_answered_by_what_was_meant(machine, terminal_of):  # noqa: F811
    terminal = typing(machine, terminal_of)
    for typed, meant in (("statsu", "did you mean status?"), ("run --memroy 3G -- true", "did you mean --memory 3G?"),
                         ("run --gpus 2 -- true", "did you mean -n 2?")):
        terminal.shell(f"berth {typed}")
        terminal.until(meant)


@pytest.mark.parametrize(("changes", "is_coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"CLICOLOR": "0"}, False)])
def test_colours_are_as_one_wishes(machine, terminal_of, changes, is_coloured):  # noqa: F811
    terminal = typing(machine, terminal_of, **changes)
    terminal.shell("berth")
    terminal.until("H100", lambda text: text.rstrip().endswith(PROMPT.rstrip()))
    table = [line for line in terminal.call("capture-pane", "-p", "-e").splitlines() if "H100" in line]
    assert any("\x1b[3" in line or "\x1b[9" in line for line in table) == is_coloured, table
