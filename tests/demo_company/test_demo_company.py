"""The demo company: the same realistic books every time, served by a real service, also to JupyterLab."""

import datetime as dt
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import httpx
import pandas as pd
import pyarrow.parquet as pq
import pytest
from plain_books import books_of

import accounting_analytics as aa
from accounting_analytics.core.errors import ConfigurationError
from accounting_analytics.demo_company import DemoCompany, open_lab
from accounting_analytics.service.database import Store

PROJECT = Path(__file__).parents[2]
CASH = {"led_operating", "led_savings", "led_processor", "led_card"}
LINES = Path(aa.demo_company.__file__).with_name("line_entries.parquet")


@pytest.fixture(scope="module")
def generated_lines():
    """Return the company's line entries, with exact signed amounts and local times."""
    frame = pq.read_table(LINES).to_pandas()
    signs = frame["debit_credit"].map({"debit": 1, "credit": -1})
    return frame.assign(signed=frame["amount"] * signs, clock=frame["datetime"].dt.tz_convert("America/New_York"))


@pytest.fixture(scope="module")
def served(demo_company):
    """Return ledgers and line entries of all days, as the service has them."""
    days = (demo_company.start_date, demo_company.end_date)
    ledgers = aa.discover_ledgers(demo_company.client, *days, progress=False)
    return ledgers, aa.load_line_entries(demo_company.client, ledgers["id"], *days, progress=False)


def test_the_service_has_every_line(served, generated_lines):
    _, served = served
    columns = ["ledger_id", "datetime", "debit_credit", "amount", "description", "journal_entry_description"]
    given = generated_lines.rename(columns={"ledger": "ledger_id", "entry_description": "journal_entry_description"})
    given = given.assign(amount=given["amount"].astype(float))[columns]
    own = set(given["ledger_id"]) & set(served["ledger_id"])  # others have ids of the service, and names in the file
    assert len(own) > 50
    assert Counter(served.loc[served["ledger_id"].isin(own), columns].itertuples(index=False, name=None)) == Counter(
        given[given["ledger_id"].isin(own)].itertuples(index=False, name=None)
    )
    assert len(served) == len(generated_lines)


def test_the_books_are_realistic(generated_lines):
    assert 2800 <= generated_lines["entry_id"].nunique() <= 3500
    assert set(generated_lines.groupby("entry_id")["signed"].sum()) == {0}
    assert LINES.stat().st_size < 400_000
    suspense = generated_lines["ledger"].str.contains("uncategorized")
    of_cash = generated_lines[generated_lines["ledger"].isin(CASH)]
    uncategorized = of_cash[of_cash["entry_id"].isin(generated_lines.loc[suspense, "entry_id"])]
    assert 0.08 <= len(uncategorized) / len(of_cash) <= 0.12
    clocks = generated_lines.drop_duplicates("entry_id")["clock"]
    assert (clocks.dt.date.min(), clocks.dt.date.max()) == (dt.date(2025, 1, 1), dt.date(2026, 6, 30))
    assert (clocks.dt.date != clocks.dt.tz_convert("UTC").dt.date).sum() > 300
    assert set(clocks.dt.date) >= {dt.date(2025, 3, 9), dt.date(2026, 3, 8)}
    touched = generated_lines.groupby("entry_id")["ledger"].agg(set)
    assert (touched.map(len) > 2).sum() > 300
    assert touched.map(CASH.issuperset).sum() >= 18
    assert touched.map(CASH.isdisjoint).sum() > 200
    assert set(generated_lines["personal"].dropna()) == {True, False}
    assert set(generated_lines["review_status"].dropna()) == {"reviewed", "unreviewed"}


def test_company_is_served_to_its_client_and_environment(demo_company, fork_server, tmp_path):
    assert isinstance(demo_company, DemoCompany)
    report = demo_company.client.retrieve_cash_flow_report(demo_company.start_date, demo_company.end_date)
    assert report.ending_cash_balance
    assert demo_company.token not in repr(demo_company)
    environment = os.environ | demo_company.environment()
    code = "import accounting_analytics as aa; print(aa.connect().instance_id, aa.connect())"
    fork_server.start(code, folder=tmp_path, environment=environment)
    other = fork_server.wait()
    assert other.stdout.startswith(demo_company.instance_id), other.stderr
    assert demo_company.token not in other.stdout


@pytest.mark.long
def test_every_demo_company_has_the_same_lines(demo_company):
    with aa.demo() as other:
        ledgers = aa.discover_ledgers(other.client, "2025-01-01", "2025-03-31")["id"]
        loads = [
            aa.load_line_entries(one.client, ledgers, "2025-01-01", "2025-03-31", progress=False)
            for one in (demo_company, other)
        ]
    assert (loads[0]["tag_ids"] != "").any()
    pd.testing.assert_frame_equal(*loads)


@pytest.mark.long
def test_serving_it_loads_no_charts_and_no_notebooks():
    code = (
        "import sys; from accounting_analytics.demo_company import demo; print(*sys.modules);"
        "from accounting_analytics.demo_company import run_demo; print(*sys.modules)"
    )
    arguments = [sys.executable, "-c", code]
    loaded = subprocess.run(arguments, capture_output=True, text=True, check=True)  # noqa: S603 (ours)
    served, whole_loop = (set(line.split()) for line in loaded.stdout.splitlines())
    assert served & {"plotly", "nbformat"} == set()
    assert whole_loop & {"plotly", "nbformat", "nbconvert"} == {"plotly"}


def test_closing_refuses_connections_and_leaves_no_database():
    company = aa.demo()
    assert company.database.exists()
    company.close()
    company.close()
    assert not company.database.exists()
    with pytest.raises(httpx.ConnectError):
        httpx.get(company.base_url)


@pytest.mark.long
def test_it_closes_when_the_interpreter_exits(tmp_path):
    code = "import accounting_analytics as aa; print(aa.demo().database)"
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    arguments = [sys.executable, "-W", "error", "-c", code]
    ended = subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=True, env=environment)  # noqa: S603 (ours)
    assert ended.stderr == ""
    assert not Path(ended.stdout.strip()).parent.exists()


def test_given_database_is_created_once_and_kept(tmp_path):
    database = tmp_path / "company.db"
    with aa.demo(database=database) as company:
        page = company.client.list_line_entries("led_card", "2025-01-02", "2025-01-31", time_zone="America/New_York")
        line = page.records[0]
        changed = company.client.recategorize_transaction(
            "led_card", line.transaction_id, updated_category_ledger_id="led_travel"
        )
    with aa.demo(database=str(database)) as company:
        again = company.client.recategorize_transaction(
            "led_card", line.transaction_id, updated_category_ledger_id="led_travel"
        )
        assert again.categories == changed.categories
    with Store.open(database) as store:
        assert [instance.id for instance in store.instances()] == ["harbor-lane"]


def test_the_rules_categorize_most_transactions(served):
    ledgers, lines = served
    queue = aa.uncategorized_queue(aa.Books(lines, ledgers))
    rules = aa.load_rules(PROJECT / "data" / "rules.toml")
    proposals = aa.propose(queue, rules, books_of(ledgers))
    assert 0.6 <= len(proposals) / len(queue) <= 0.9
    assert len(set(proposals["rule"])) >= 0.8 * len(rules)
    assert ledgers["parent_known"].all()


def test_missing_folder_of_notebooks_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="does not exist"):
        open_lab(tmp_path / "notebooks")


@pytest.mark.long
def test_a_terminated_program_ends_jupyterlab(fork_server, tmp_path):
    """A stopped container or job sends SIGTERM: JupyterLab ends, and then the program, with its exit code."""
    (tmp_path / "notebooks").mkdir()
    folders = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    process_id = fork_server.start(
        "from accounting_analytics.demo_company import open_lab; raise SystemExit(open_lab())",
        folder=tmp_path,
        environment=os.environ | folders | {"JUPYTER_PORT": "0", "BROWSER": "true"},
    )
    while not [*tmp_path.glob("RUNTIME/jpserver-*.json")]:
        time.sleep(0.1)
        os.kill(process_id, 0)
    os.kill(process_id, signal.SIGTERM)
    assert fork_server.wait().returncode == 0
    assert not [*tmp_path.glob("RUNTIME/jpserver-*.json")]
