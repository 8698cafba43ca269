"""Tables in a narrow terminal: a row is one line, and the columns that are left out are named."""

import re
from functools import partial

import pytest

from accounting_analytics.cli.commands import access_and_audit, instances, ledgers_and_report, reconcile

NAMED = ": the terminal is too narrow; --json prints every column"
PERIOD = ("2025-03-01", "2025-03-31")
RAW_REPORT = partial(ledgers_and_report.report, raw=True)


@pytest.fixture
def printed(capsys, monkeypatch):
    """Return a function that calls a command in a terminal of a width, and returns its table and the line below it."""

    def printed(command, *arguments, width=80):
        for name, value in {"COLUMNS": str(width), "FORCE_COLOR": "1", "TERM": "xterm"}.items():
            monkeypatch.setenv(name, value)
        capsys.readouterr()
        command(*arguments)
        lines = re.sub(r"\x1b\[\d*m", "", capsys.readouterr().out).splitlines()
        first = next(number for number, line in enumerate(lines) if line.strip()[:3] == "───")
        end = next(number for number in range(first, len(lines)) if not lines[number].strip())
        assert not lines[first - 2].strip()  # the heading is one line
        return lines[first - 1 : end], (*lines[end + 1 :], "")[0]

    return printed


@pytest.fixture
def database(tmp_path):
    """Return a database with long ids, a token and a change."""
    path = str(tmp_path / "books.db")
    instances.create_instance(path, instance="instance-with-a-long-identifier", token_file=tmp_path / "token")
    instances.rename_ledger(path, "Uncategorized Cash Inflow", "Inflow", modified_by="Ada")
    return path


@pytest.mark.parametrize(
    ("command", "count"),
    [
        (instances.list_ledgers, 4),
        (access_and_audit.list_tokens, 1),
        (access_and_audit.list_changes, 2),
        (instances.list_instances, 1),
    ],
)
def test_lists_of_an_operator(printed, database, command, count):
    """A heading and one line for each row, within the width."""
    table, below = printed(command, database)
    assert len(table) == 2 + count
    assert max(map(len, table)) <= 80
    assert below.endswith(NAMED)


@pytest.mark.parametrize("command", [ledgers_and_report.discover, RAW_REPORT, reconcile.reconcile])
@pytest.mark.long
def test_tables_of_the_books(printed, demo_company, monkeypatch, command):
    """A ledger or a month is one line: columns without which it is understood are left out."""
    for name, value in demo_company.environment().items():
        monkeypatch.setenv(name, value)
    table, below = printed(command, *PERIOD)
    assert max(map(len, table)) <= 80
    assert below.endswith(NAMED)


def test_only_what_does_not_fit_is_left_out(printed, database):
    """Columns are left out one by one, and none where all fit."""
    heading, *_ = printed(instances.list_ledgers, database, width=160)[0]
    assert heading.split() == ["id", "path", "type", "sub_type", "debit_credit", "sort_code", "report_cash_flow"]
    table, below = printed(instances.list_ledgers, database, width=240)
    assert table[0].split()[0] == "name"
    assert below == ""
