"""Every command appears in a README, and it and its options have a help text."""

import re
from pathlib import Path

import pytest
from cyclopts import App

from accounting_analytics.cli.program import app, run

PROJECT = Path(__file__).parents[2]
READMES = (
    "README.md",
    "notebooks/README.md",
    "accounting_analytics/pack/README.md",
    "accounting_analytics/service/README.md",
    "accounting_analytics/service/administration.md",
    "data/README.md",
)


def leaf_commands(group, prefix=()):
    """Yield the words and the app of every command that does something."""
    for name in group:
        if name.startswith("-"):
            continue
        command = group[name]
        if isinstance(command, App) and command.default_command is None:
            yield from leaf_commands(command, (*prefix, name))
        else:
            yield (*prefix, name), command


COMMANDS = dict(leaf_commands(app))


@pytest.fixture(scope="module")
def documentation():
    """Return the text of the READMEs that exist."""
    return "\n".join(path.read_text(encoding="utf-8") for path in map(PROJECT.joinpath, READMES) if path.exists())


def test_commands_options_and_arguments_have_help_and_documentation(documentation):
    for words, command in COMMANDS.items():
        assert command.help or command.default_command.__doc__, words
        arguments = [one for one in command.assemble_argument_collection(parse_docstring=True) if one.show]
        assert [one.name for one in arguments if not one.parameter.help] == [], words
        assert re.search(rf"(accounting-analytics |`){' '.join(words)}\b", documentation), words


def test_commands_with_dates_take_an_optional_period():
    options = {
        words: {one.name: one for one in command.assemble_argument_collection()} for words, command in COMMANDS.items()
    }
    dated = {words: named for words, named in options.items() if "--start-date" in named}
    assert len(dated) > 10
    for named in dated.values():
        days = [named[name] for name in ("--start-date", "--end-date", "--period")]
        assert not any(one.required for one in days)


SECTIONS = {
    "Read and check": (
        "demo discover report statements register bridge outlook draft-budget reconcile doctor sync books"
    ),
    "Recategorize": "queue check-coding rules propose plan preview apply undo verify categorize",
    "Export and schedule": "export verify-export pack verify-pack run notebooks config",
    "Embedded service": "serve import service",
}


def test_commands_are_listed_in_sections(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert run([]) == 0
    listed, section = {}, ""
    for line in capsys.readouterr().out.splitlines():
        if line.startswith("╭─ "):
            section = line.strip("╭─╮ ")
        elif line.startswith("│ "):
            listed.setdefault(section, []).append(line.split()[1])
    assert list(listed) == ["Commands", *SECTIONS]
    assert {section: " ".join(listed[section]) for section in SECTIONS} == SECTIONS
