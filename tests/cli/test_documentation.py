"""Every command appears in a README, and it and its options have a help text."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from accounting_analytics import cli
from accounting_analytics.cli.program import app

PROJECT = Path(__file__).parents[2]
READMES = (
    "README.md",
    "notebooks/README.md",
    "accounting_analytics/pack/README.md",
    "accounting_analytics/service/README.md",
    "data/README.md",
)


def leaf_commands(group, prefix=()):
    """Yield the words and the click command of every command that does something."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from leaf_commands(command, (*prefix, name))
        else:
            yield (*prefix, name), command


COMMANDS = dict(leaf_commands(typer.main.get_command(app)))


@pytest.fixture(scope="module")
def documentation():
    """Return the text of the READMEs that exist."""
    return "\n".join(path.read_text(encoding="utf-8") for path in map(PROJECT.joinpath, READMES) if path.exists())


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_help(words):
    """Each command prints its usage, and it, its options and its arguments have a help text."""
    result = CliRunner().invoke(app, [*words, "--help"])
    assert result.exit_code == 0
    assert "Usage" in result.stdout
    command = COMMANDS[words]
    assert command.help
    assert [parameter.name for parameter in command.params if not parameter.help] == []
    assert re.findall(r"<\w+[\[ ].*>", result.stdout) == []  # types of Python, such as list[str]


GROUPS = sorted({words[:-1] for words in COMMANDS})


@pytest.mark.parametrize("words", GROUPS, ids=" ".join)
def test_lists_of_commands_fit_a_terminal(words):
    """In 80 columns the first sentence of each command is whole."""
    result = CliRunner().invoke(app, [*words, "--help"], terminal_width=80, env={"COLUMNS": "80"})
    assert result.exit_code == 0
    assert "..." not in result.stdout.partition("Show this message")[2]


SECTIONS = {
    "Read and check": "demo discover report statements register bridge reconcile sync books doctor",
    "Recategorize": "queue propose plan preview apply verify undo categorize rules",
    "Export and schedule": "export verify-export pack verify-pack run notebooks config",
    "Embedded service": "serve import backup restore instances ledgers audit tokens",
}


def test_commands_are_listed_in_sections():
    """The help of the program lists every command in one of four sections, in the order of the work."""
    text = CliRunner().invoke(app, ["--help"]).stdout
    headings = re.findall(r"^(\w[\w ]*):\n((?:  .*\n?)+)", text, re.MULTILINE)
    listed = {heading: " ".join(re.findall(r"^  (\S+)", rows, re.MULTILINE)) for heading, rows in headings}
    assert list(listed) == ["Options", *SECTIONS]
    assert {heading: listed[heading] for heading in SECTIONS} == SECTIONS


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_is_in_a_readme(documentation, words):
    """Each command appears in a README as it is typed: after the program's name, or in backquotes."""
    assert re.search(rf"(accounting-analytics |`){' '.join(words)}\b", documentation)


def test_options_of_several_commands_are_defined_once():
    """No option or argument is written twice: what several commands have is in `cli/options.py`."""
    sources = [path.read_text(encoding="utf-8") for path in Path(cli.__file__).parent.rglob("*.py")]
    calls = [node for source in sources for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    defined = Counter(
        ast.unparse(call) for call in calls if ast.unparse(call.func) in {"typer.Option", "typer.Argument"}
    )
    assert len(defined) > 80
    assert [text for text, count in defined.items() if count > 1] == []
