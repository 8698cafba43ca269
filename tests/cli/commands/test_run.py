"""The command ``run``: a period without line entries, and the names of its files."""

from pathlib import Path

import pytest
from nbformat import write
from nbformat.v4 import new_code_cell, new_notebook

NOTEBOOK = Path(__file__).parents[3] / "notebooks" / "scheduled_report.ipynb"
DAYS = ("-p", "start_date=2030-01-01", "-p", "end_date=2030-01-31")


@pytest.mark.parametrize(("options", "code"), [((), 3), pytest.param(("--allow-empty",), 0, marks=pytest.mark.long)])
@pytest.mark.long
def test_an_empty_period_needs_permission(run, demo_company, tmp_path, options, code):
    """Without line entries the scheduled report fails with exit code 3 and a sentence, unless that is allowed."""
    finished = run("run", NOTEBOOK, "--output", "out", *DAYS, *options, **demo_company.environment())
    assert finished.returncode == code, finished.stderr
    assert ("no line entries from 2030-01-01 to 2030-01-31" in finished.stderr) == (code == 3)
    mark = ".failed" if code else ""
    assert (tmp_path / "out" / f"scheduled_report_2030-01-01_2030-01-31{mark}.html").is_file()


def test_a_notebook_without_the_parameter_is_refused(run, tmp_path):
    """--allow-empty is invalid for a notebook that does not decide about empty periods."""
    finished = run("run", NOTEBOOK.with_name("01_cash_flow.ipynb"), "--output", "out", "--allow-empty")
    assert finished.returncode == 2
    assert "declares no parameter 'allow_empty'" in finished.stderr
    assert not (tmp_path / "out").exists()


def test_a_period_sets_both_days(run, tmp_path):
    """The days are those of the notebook's zone, name the files, and head the page with the company."""
    notebook = tmp_path / "days.ipynb"
    cell = new_code_cell('start_date = ""\nend_date = ""\ntime_zone = "Asia/Tokyo"', metadata={"tags": ["parameters"]})
    write(new_notebook(cells=[cell, new_code_cell("print(start_date, end_date)")]), notebook)
    company = {"ACCOUNTING_ANALYTICS_COMPANY": "Harbor & Lane"}
    finished = run("run", notebook, "--output", "out", "--period", "May 2026", **company)
    assert finished.returncode == 0, finished.stderr
    page = (tmp_path / "out" / "days_2026-05-01_2026-05-31.html").read_text(encoding="utf-8")
    assert "<title>Harbor &amp; Lane, May 2026</title>" in page
    assert "2026-05-01 2026-05-31" in page
    twice = run("run", notebook, "--output", "out", "--period", "2026-05", "-p", "end_date=2026-05-30")
    assert twice.returncode == 2
    assert "-p end_date and the days of the command are both given" in twice.stderr
