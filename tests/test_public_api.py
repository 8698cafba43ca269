"""Public names: documented, sorted, each with a docstring, loaded on first use."""

import inspect
import subprocess
import sys
import tomllib
from pathlib import Path

import accounting_analytics as aa

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"
SLOW = {"pandas", "pyarrow", "plotly", "httpx", "sqlalchemy", "narwhals", "starlette", "pandera"}


def test_public_names_are_sorted_and_exist():
    assert sorted(aa.__all__) == aa.__all__
    assert all(getattr(aa, name) is not None for name in aa.__all__)


def test_completion_of_charts_lists_charts():
    assert dir(aa.charts) == aa.charts.__all__


def test_core_signatures_are_as_documented():
    expected = {
        "discover_ledgers": ["client", "start_date", "end_date", "*time_zone"],
        "load_line_entries": [
            "client",
            "ledger_ids",
            "start_date",
            "end_date",
            "*time_zone",
            "*is_cashflow",
            "*tag_ids",
        ],
        "load_cash_flow_report": ["client", "start_date", "end_date", "*time_zone", "*tag_ids"],
        "open_journal": ["path", "period", "*time_zone", "*cash", "*opening_ledgers", "*commodity"],
        "open_table": ["path", "period", "*time_zone", "*cash", "*opening_ledgers", "*midnights"],
        "load_books": ["source", "period", "*since", "*opening", "*chart", "*ledgers", "*parents", "*reports"],
        "Books": ["lines", "ledgers", "period", "*time_zone", "*scale", "*opening", "*reports"],
        "income_statement": ["books", "period", "*columns", "*compare", "*depth"],
        "recompute_cash_flow": ["books", "period", "*lines", "*allow_partial"],
        "reconcile": ["books"],
        "export": ["books", "output", "period", "*format"],
        "monthly_pack": ["books", "period", "*drift"],
        "apply_plan": ["client", "plan", "*journal", "*confirm", "*modified_by"],
        "LedgerClient": ["base_url", "*token", "*instance_id", "*instance_header", "*transport"],
    }
    for name, parameters in expected.items():
        signature = inspect.signature(getattr(aa, name))
        shown = [
            f"*{parameter.name}" if parameter.kind is parameter.KEYWORD_ONLY else parameter.name
            for parameter in signature.parameters.values()
        ]
        assert shown[: len(parameters)] == parameters, name


OF_THE_BOOKS = {"company", "currency", "fiscal_year_start_month", "ledgers", "line_entries", "opening", "scale"}
"""What books state, and a function that takes books therefore does not."""


def test_what_the_books_are_is_said_once():
    """No function that takes books takes what they state; how many parameters there are is printed."""
    functions = {name: getattr(aa, name) for name in aa.__all__ if inspect.isfunction(getattr(aa, name))}
    parameters = {name: set(inspect.signature(function).parameters) for name, function in functions.items()}
    said_again = {name: OF_THE_BOOKS & found for name, found in parameters.items() if "books" in found}
    assert "income_statement" in said_again
    assert {name: found for name, found in said_again.items() if found} == {"cash_flow_statement": {"ledgers"}}
    print(f"{sum(map(len, parameters.values()))} parameters of {len(functions)} public functions")  # noqa: T201


def test_version_is_that_of_pyproject():
    assert aa.__version__ == tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]["version"]


def test_every_public_name_has_a_docstring():
    documented = {name: inspect.getdoc(getattr(aa, name)) or "" for name in aa.__all__ if name != "__version__"}
    assert [name for name, text in documented.items() if not text.partition("\n")[0].endswith((".", ":"))] == []


def test_importing_the_package_loads_nothing_slow():
    code = "import sys, accounting_analytics, accounting_analytics.cli; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603
    assert SLOW & set(loaded.stdout.split()) == set()
