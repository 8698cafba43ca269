"""Notebooks on the command line: runs with parameters of the declared types, and copies of the examples."""

import datetime as dt
import json
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbformat import v4

import accounting_analytics as aa
from accounting_analytics.core.errors import NotebookParametersError

NOTEBOOK = Path(__file__).parents[3] / "notebooks" / "scheduled_report.ipynb"
DAYS = ("-p", "start_date=2030-01-01", "-p", "end_date=2030-01-31")


@pytest.mark.parametrize(("options", "code"), [((), 3), pytest.param(("--allow-empty",), 0, marks=pytest.mark.long)])
@pytest.mark.long
def test_an_empty_period_needs_permission(run_demo, tmp_path, options, code):
    finished = run_demo("run", NOTEBOOK, "--output", "out", *DAYS, *options, code=code)
    assert ("no line entries from 2030-01-01 to 2030-01-31" in finished.stderr) == (code == 3)
    mark = ".failed" if code else ""
    assert (tmp_path / "out" / f"scheduled_report_2030-01-01_2030-01-31{mark}.html").is_file()


def test_allow_empty_is_refused_without_its_parameter(run, tmp_path):
    finished = run("run", NOTEBOOK.with_name("01_cash_flow.ipynb"), "--output", "out", "--allow-empty", code=2)
    assert "declares no parameter 'allow_empty'" in finished.stderr
    assert not (tmp_path / "out").exists()


def test_period_sets_days_file_names_and_heading(run, write, tmp_path):
    parameters = 'start_date = ""\nend_date = ""\ntime_zone = "Asia/Tokyo"'
    notebook = write(parameters, "print(start_date, end_date)", name="days")
    company = {"ACCOUNTING_ANALYTICS_COMPANY": "Harbor & Lane"}
    run("run", notebook, "--output", "out", "--period", "May 2026", **company)
    page = (tmp_path / "out" / "days_2026-05-01_2026-05-31.html").read_text(encoding="utf-8")
    assert "<title>Harbor &amp; Lane, May 2026</title>" in page
    assert "2026-05-01 2026-05-31" in page
    twice = run("run", notebook, "--output", "out", "--period", "2026-05", "-p", "end_date=2026-05-30", code=2)
    assert "-p end_date and the days of the command are both given" in twice.stderr


DEFAULTS = """
strict = True
limit = 50
share = 0.25
code = "x"
note: str | None = None
amount: "float" = 1
ledgers = ["a"]
choices = {"a": 1}
open_end = None
day = "2026-01-01"
%matplotlib inline
"""
SHOW = (
    "import json\nprint(json.dumps([strict, limit, share, code, note, amount, ledgers, choices, open_end, day]), "
    "type(share).__name__, type(amount).__name__)"
)


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a notebook of code cells, the first one tagged `parameters`."""

    def write(*cells, name="job", metadata=None):
        written = [v4.new_code_cell(source) for source in cells]
        written[0].metadata["tags"] = ["parameters"]
        path = tmp_path / f"{name}.ipynb"
        path.write_text(nbformat.writes(v4.new_notebook(cells=written, metadata=metadata or {})), encoding="utf-8")
        return path

    return write


def printed(path):
    """Return what the last cell of an executed notebook printed."""
    return nbformat.read(path, as_version=4).cells[-1].outputs[0].text.strip()


def test_the_type_of_the_default_decides_on_the_command_line(run, write, tmp_path):
    texts = {
        "strict": "false",
        "limit": "5",
        "share": "5",
        "code": "00123",
        "note": "5",
        "amount": "1e+16",
        "ledgers": '["Rent", "Stra\\u00dfe"]',
        "choices": '{"a": true, "b": null}',
        "open_end": "none",
        "day": "2025-02-03",
    }
    options = [option for name, text in texts.items() for option in ("-p", f"{name}={text}")]
    path = write(DEFAULTS, SHOW, metadata={"kernelspec": {"name": "python3", "display_name": "Python"}})
    finished = run("run", path, "--output", "out {of} runs", *options, "--json")
    values = [False, 5, 5.0, "00123", "5", 1e16, ["Rent", "Straße"], {"a": True, "b": None}, None, "2025-02-03"]
    assert printed(tmp_path / finished.content["notebook"]) == f"{json.dumps(values)} float float"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("strict=0", "'0' does not fit parameter 'strict', whose default is True: give true or false"),
        ("limit=5.0", "'5.0' does not fit parameter 'limit', whose default is 50: give a whole number"),
        ("limit=1,000", "'1,000' does not fit"),
        ("share=1e400", "'1e400' does not fit parameter 'share'"),
        ("ledgers=Rent,Power", "give a list such as"),
        ("choices=[1]", "give a mapping such as"),
        ("open_end=5", "can be a text or the value 5, and its default, None, does not decide"),
        ("open_end=true", "such as open_end: bool | None = None"),
    ],
)
def test_a_text_that_does_not_fit_is_refused(run, assert_refused, write, text, message):
    path = write(DEFAULTS, SHOW)
    assert_refused(run("run", path, "--output", "out", "-p", text, code=2), message, "nothing was executed")
    assert not path.with_name("out").exists()


def test_a_parameter_annotated_as_a_date_gets_one(run, write, tmp_path):
    cell = "from datetime import date\nstart_date: date = date(2025, 1, 1)\nend_date: 'date | None' = None"
    show = "print(start_date.year + end_date.month, type(end_date).__name__)"
    run("run", write(cell, show), "--output", "out", "--start-date", "2026-05-01", "--end-date", "2026-05-31")
    assert printed(tmp_path / "out/job_2026-05-01_2026-05-31.ipynb") == "2031 date"


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (("day = '2025-01-01'\nmonth = day[:7]", "day=2026-05-01"), "line 2, 'month = day[:7]'): move that line"),
        (("day = '2025-01-01'\nmonth = f'{day}'", "day=2026-05-01"), "line 2"),
        (("day = '2025-01-01'\nif day:\n    month = day[:7]", "day=2026-05-01"), "line 2"),
        (("rate = 5\nrate *= 2", "rate=3"), "line 2, 'rate *= 2'"),
        (("import datetime\nday = datetime.date(2025, 1, 1)", "day=2026-05-01"), "which type 'day' has (line 2"),
        (("from decimal import Decimal\nrate: Decimal = Decimal(5)", "rate=3"), "which type 'rate' has (line 2"),
        (("from datetime import date\nday: date = date(2025, 1, 1)", "day=1 May"), "give a day such as 2026-05-01"),
    ],
)
def test_what_a_given_value_would_not_reach_is_refused(run, assert_refused, write, case, message):
    cell, given = case
    path = write(cell, "print(1)")
    assert_refused(run("run", path, "--output", "out", "-p", given, code=2), message, "nothing was executed")
    assert not path.with_name("out").exists()


@pytest.mark.parametrize("tags", [["parameters", "parameters"], ["injected-parameters", "parameters"]])
def test_one_cell_has_the_parameters(run, assert_refused, write, tags):
    """The defaults of a second tagged cell would be used instead of given values; so would a cell that was inserted."""
    path = write("start_date = '2025-01-01'", "start_date = '2025-02-01'")
    notebook = nbformat.read(path, as_version=4)
    for cell, tag in zip(notebook.cells, tags, strict=True):
        cell.metadata["tags"] = [tag]
    nbformat.write(notebook, path)
    finished = run("run", path, "--output", "out", "-p", "start_date=2026-05-01", code=2)
    assert_refused(finished, "cells 1, 2 of the notebook are tagged", "nothing was executed")


def test_a_byte_order_mark_is_named(run, assert_refused, write):
    path = write("x = 1")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert_refused(run("run", path, "--output", "out", code=2), "begins with a byte order mark")


def test_a_secret_that_does_not_fit_is_not_repeated(run, assert_refused, write):
    token = {"ACCOUNTING_ANALYTICS_TOKEN": "canary-token-1"}
    finished = run("run", write(DEFAULTS, SHOW), "--output", "out", "-p", "limit=canary-token-1", **token, code=2)
    assert_refused(finished, "looks like a secret")
    assert "canary-token-1" not in finished.stderr


@pytest.mark.long
def test_values_of_python_arrive_as_they_are(write, tmp_path):
    text = 'line\nend "quoted" \\ \N{GRINNING FACE} {code}'
    values = {
        "strict": np.bool_(False),  # noqa: FBT003 (as a frame has it)
        "limit": np.int64(7),
        "share": 1,
        "code": text,
        "note": None,
        "amount": 1e-05,
        "ledgers": ("b", "c"),
        "choices": {"n": [1, None]},
        "open_end": "5",
        "day": dt.date(2025, 2, 3),
    }
    files = aa.run_notebook(write(DEFAULTS, SHOW, name="a{code}"), tmp_path / "out", parameters=values)
    expected = [False, 7, 1.0, text, None, 1e-05, ["b", "c"], {"n": [1, None]}, "5", "2025-02-03"]
    assert printed(files.notebook) == f"{json.dumps(expected)} float float"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"strict": 0}, "0 does not fit parameter 'strict', whose default is True"),
        ({"limit": True}, "True does not fit parameter 'limit'"),
        ({"limit": 5.0}, "5.0 does not fit parameter 'limit'"),
        ({"code": 123}, "123 does not fit parameter 'code', whose default is 'x': give a text"),
        ({"choices": {1: 2}}, "cannot be written into a notebook"),
        ({"open_end": {1, 2}}, "{1, 2}, a set, for parameter 'open_end' cannot be written into a notebook"),
        ({"code": "\ud800"}, "cannot be written into a notebook"),
    ],
)
def test_values_of_another_type_are_refused_before_execution(write, tmp_path, parameters, message):
    with pytest.raises(NotebookParametersError, match=re.escape(message)):
        aa.run_notebook(write(DEFAULTS, SHOW), tmp_path / "out", parameters=parameters)
    assert not (tmp_path / "out").exists()


def test_quit_in_a_cell_fails_the_run(run, write, tmp_path):
    finished = run("run", write("x = 1", "quit()", "print('after')"), "--output", "out", code=1)
    assert "raised SystemExit" in finished.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["job.failed.html", "job.failed.ipynb"]
    executed = nbformat.read(tmp_path / "out/job.failed.ipynb", as_version=4).cells
    assert [cell.source for cell in executed if cell.execution_count is None] == ["print('after')"]


@pytest.mark.parametrize(
    ("metadata", "language"),
    [
        ({"kernelspec": {"name": "ir", "display_name": "R", "language": "R"}}, "R"),
        ({"kernelspec": {"name": "python3", "display_name": "x"}, "language_info": {"name": "julia"}}, "julia"),
        ({"kernelspec": {"name": "bash", "display_name": "Bash"}}, "not installed here"),
        ({"kernelspec": {"name": "sparkpy", "display_name": "Spark", "language": "python"}}, "not installed here"),
    ],
)
def test_notebooks_of_other_languages_are_refused(run, assert_refused, write, metadata, language):
    path = write("x = 1", metadata=metadata)
    assert_refused(run("run", path, "--output", "out", code=2), language, "only notebooks in Python are run")
    assert not path.with_name("out").exists()


def test_examples_are_copied_and_changed_files_need_force(run, tmp_path):
    finished = run("notebooks", "copy", "my folder", "--json")
    result = finished.content
    assert "notebooks/01_cash_flow.ipynb" in result["copied"]
    assert result["unchanged"] == []
    assert "next: jupyter lab 'my folder'" in finished.stderr
    (tmp_path / "my folder" / "data" / "rules.toml").write_text("mine", encoding="utf-8")
    refused = run("notebooks", "copy", "my folder", code=2)
    assert refused.stderr.startswith("error: 1 file in my folder unlike")
    forced = run("notebooks", "copy", "my folder", "--force")
    assert forced.stdout.startswith("copied: data/rules.toml\n")
