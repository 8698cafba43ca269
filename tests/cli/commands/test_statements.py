"""Statements, registers, reports, bridges and outlooks on the command line: figures, files, and what is refused."""

import csv
import json
import re
from decimal import Decimal

import pytest
from long_cases import also_long

import accounting_analytics as aa
from accounting_analytics.cli.program import run as run_here

MAY = ("--period", "2025-05")
KINDS = {
    "cash-flow": aa.cash_flow_statement,
    "income": aa.income_statement,
    "balance-sheet": aa.balance_sheet,
    "trial-balance": aa.trial_balance,
}


@pytest.fixture(scope="module")
def ledgers_and_lines(demo_company):
    """Return the chart of accounts and the line entries of the first months of the demo company."""
    days = ("2025-01-01", "2025-05-31")
    ledgers = aa.discover_ledgers(demo_company.client, *days)
    return ledgers, aa.load_line_entries(demo_company.client, ledgers["id"], *days)


def amounts(statement):
    """Return the amounts of the rows of a statement's JSON that are not zero, by key."""
    rows = {row["key"]: row["amounts"] for row in statement["rows"] if row["kind"] != "heading"}
    return {key: row for key, row in rows.items() if any(row.values())}


@pytest.mark.parametrize("kind", ["income", "cash-flow", *also_long("balance-sheet", "trial-balance")])
def test_statements_are_those_of_python(run_demo, demo_company, ledgers_and_lines, kind):
    ledgers, lines = ledgers_and_lines
    compared = {} if kind == "trial-balance" else {"compare": ["prior", "change"]}
    options = [word for one in compared.get("compare", ()) for word in ("--compare", one)]
    finished = run_demo("statements", kind, *MAY, *options, "--json")
    of_books = aa.Books(lines, ledgers, "2025-05", time_zone=demo_company.time_zone, opening="2025-01-01")
    expected = KINDS[kind](of_books, **compared)
    shown = finished.content
    assert amounts(shown) == amounts(json.loads(expected.to_json()))
    assert [column["key"] for column in shown["columns"]] == [column.key for column in expected.columns]


def test_columns_of_a_tag_group_sum_to_the_statement(run_demo):
    whole = ("statements", "income", "--period", "2026-05", "--json")
    arguments = (*whole, "--columns", "tag")
    refused = run_demo(*arguments, code=2)
    group = re.search(r"tag_group \(--tag-group in a shell\): (\w+) \(tags ", refused.stderr)[1]
    shown = run_demo(*arguments, "--tag-group", group).content
    untagged = run_demo(*whole).content
    assert [column["label"] for column in shown["columns"]][-1] == "Total"
    totals = {key: row["total"] for key, row in amounts(shown).items()}
    assert totals == {key: row["2026-05"] for key, row in amounts(untagged).items()}
    refused = run_demo("statements", "balance-sheet", *MAY, "--tag", "tag_1", code=2)
    assert "statements balance-sheet has no --tag" in refused.stderr


def test_statements_compare_with_a_budget_file(run_demo, demo_company, ledgers_and_lines, tmp_path):
    rows = ["ledger,month,amount", "Rent,2025-05,7000", "Cafe Sales,2025-05,50000.5", "People,2025-05,"]
    (tmp_path / "budget.csv").write_text("\n".join(rows))
    options = ("statements", "income", *MAY, "--budget", "budget.csv")
    shown = run_demo(*options, "--json").content
    ledgers, lines = ledgers_and_lines
    of_books = aa.Books(lines, ledgers, "2025-05", time_zone=demo_company.time_zone, opening="2025-01-01")
    expected = aa.income_statement(of_books, budget=tmp_path / "budget.csv")
    assert amounts(shown) == amounts(json.loads(expected.to_json()))
    assert [column["key"] for column in shown["columns"]][1:] == [
        f"2025-05 {name}" for name in ("budget", "difference", "difference_pct")
    ]
    text = run_demo(*options, "--compare", "budget", "--output", "income.csv").stdout
    assert re.search(r"^ +Rent +7,600.00 +7,000.00 +U 600.00 +8.6% *$", text, re.MULTILINE)
    assert "Booked outside of the budget" in (tmp_path / "income.csv").read_text(encoding="utf-8-sig")
    refused = run_demo("statements", "balance-sheet", *MAY, "--budget", "budget.csv", code=2)
    assert "statements balance-sheet has no --budget: leave it out; nothing was loaded" in refused.stderr
    assert "--compare budget needs --budget" in run_demo(*options[:4], "--compare", "budget", code=2).stderr
    (tmp_path / "budget.csv").write_text("ledger,month\nRent,2025-05\n")
    refused = run_demo(*options, code=2)
    assert re.search(r"budget: .*the first row lacks amount; .*; nothing was loaded", refused.stderr)


def test_ratios_are_those_of_python(run, run_demo, demo_company):
    options = ("statements", "ratios", "--end-date", "2026-05-31")
    expected = aa.key_ratios(
        aa.load_books(demo_company.client, ("2026-05-31", "2026-05-31"), progress=False),
        "2026-05-31",
        depreciation=["Depreciation"],
    )
    shown = run_demo(*options, "--depreciation", "Depreciation", "--json").content
    assert shown["ratios"] == json.loads(expected.to_json())["ratios"]
    settings = {"ACCOUNTING_ANALYTICS_DEPRECIATION": " Depreciation ; Bank Fees", **demo_company.environment()}
    text = run(*options, **settings).stdout
    assert re.search(r"^Days of cash on hand +34.5 days$", text, re.MULTILINE)
    assert "Bank Fees, twelve months to 31 May 2026" in text
    refused = run_demo("statements", "income", *MAY, "--depreciation", "Depreciation", code=2)
    assert "statements income has no --depreciation: leave it out; nothing was loaded" in refused.stderr
    assert "ratios has no --compare" in run_demo(*options, "--compare", "prior", code=2).stderr


def test_draft_budget_is_compared_as_written(run_demo, tmp_path):
    options = ("draft-budget", "2026-01/2026-06", "--output", "draft.csv")
    finished = run_demo(*options, "--end-date", "2025-12-31")
    assert re.search(r"Of Jan 2025 to Dec 2025, with \d+ counterparties at their latest amount", finished.stderr)
    assert "draft.csv" in finished.stderr
    compared = ("statements", "income", "--period", "2026-02", "--budget", "draft.csv", "--json")
    rows = {row["key"]: row["amounts"] for row in run_demo(*compared).content["rows"] if row["kind"] != "heading"}
    assert rows["led_rent"]["2026-02 budget"] == "7600.00"
    refused = run_demo(*options, code=2)
    assert "draft.csv exists, and may have been edited: name another file; nothing was written" in refused.stderr
    options = (*options[:3], "other.csv")
    assert "is a part of a month" in run_demo(*options, "--end-date", "2025-12-30", code=2).stderr
    assert not (tmp_path / "other.csv").exists()


def test_statement_prints_heading_columns_and_rows(run, demo_company):
    settings = {"COMPANY": "Café 東京", "CURRENCY": "JPY", "FISCAL_YEAR_START_MONTH": "4"}
    environment = {f"ACCOUNTING_ANALYTICS_{name}": value for name, value in settings.items()}
    options = ("--period", "2025-01/2025-06", "--columns", "quarter", "--depth", "1", "--compare", "total")
    finished = run("statements", "income", *options, **demo_company.environment() | environment)
    lines = finished.stdout.splitlines()
    assert lines[:2] == ["Café 東京", "Income statement"]
    assert lines[2].endswith("days in America/New_York, JPY")
    assert re.split(r"  +", lines[4].strip()) == ["Q4 2024/25", "Q1 2025/26", "Total"]
    assert re.search(r"^Net income +[\d,.]+ +[\d,.]+ +[\d,.]+$", finished.stdout, re.MULTILINE)
    assert "    Wages" not in finished.stdout


@pytest.mark.long
def test_balances_are_sums_since_the_first_entry(run_demo):
    with_history = run_demo("statements", "cash-flow", *MAY, "--json").content
    anchored = run_demo("statements", "cash-flow", *MAY, "--since", "2025-04-01", "--json").content
    assert amounts(anchored) == amounts(with_history)
    assert "Cash is what the service reported at the start of 1 Apr 2025, and the movement since." in anchored["notes"]
    for statement in ("balance-sheet", "trial-balance"):
        found = run_demo("statements", statement, *MAY)
        assert "movement" not in found.stdout + found.stderr
        assert "since 1 Apr 2025" in run_demo("statements", statement, *MAY, "--since", "2025-04-01").stdout


@pytest.mark.long
def test_balances_of_a_file_give_the_balance_sheet(run_demo, tmp_path):
    whole = run_demo("statements", "trial-balance", "--period", "2025-03", "--json").content
    rows = [(row["key"], *map(Decimal, row["amounts"].values())) for row in whole["rows"] if row["kind"] == "ledger"]
    lines = [f"{key},{debit - credit}" for key, debit, credit in rows]
    (tmp_path / "balances.csv").write_text("\n".join(["ledger,balance", *lines]))
    given = ("--since", "2025-04-01", "--opening", "balances.csv")
    found = run_demo("statements", "balance-sheet", *MAY, *given)
    assert (
        re.search(r"^Total assets .*", found.stdout, re.MULTILINE).group()
        in run_demo("statements", "balance-sheet", *MAY).stdout
    )
    (tmp_path / "balances.csv").write_text("\n".join(["ledger,balance", *lines[1:]]))
    refused = run_demo("statements", "balance-sheet", *MAY, *given, code=2)
    assert "opening: the balances are of all ledgers, and debits less credits are" in refused.stderr


@pytest.mark.long
def test_demo_name_and_first_day_need_no_configuration(run):
    finished = run("statements", "balance-sheet", *MAY, "--depth", "1", "--demo")
    assert finished.stdout.startswith("Harbor Lane Coffee Roasters\nBalance sheet\n")
    assert "since 1 Jan 2025, the first day of the books" in finished.stdout


@pytest.mark.long
def test_columns_fold_in_a_terminal_not_in_a_pipe(capsys, monkeypatch, demo_company):
    for name, value in {**demo_company.environment(), "COLUMNS": "80", "FORCE_COLOR": "1", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    run_here(["statements", "income", "--period", "2026", "--compare", "prior-year"])
    folded = capsys.readouterr().out
    assert max(map(len, folded.splitlines())) <= 80
    assert "(24 columns in 6 blocks, to fit 80 characters)" in folded
    monkeypatch.delenv("FORCE_COLOR")
    run_here(["statements", "income", "--period", "2026", "--compare", "prior-year"])
    assert "blocks" not in capsys.readouterr().out


def test_page_csv_and_workbook_have_the_printed_figures(run, tmp_path, demo_books):
    for name in ("s.html", "s.csv", "s.xlsx"):
        finished = run("statements", "income", "--period", "2025-03", "--books", demo_books, "--output", name)
        assert f"written to {name}" in finished.stderr
        assert (tmp_path / name).stat().st_size > 1_000
    net = re.search(r"^Net income +([\d,.]+)$", finished.stdout, re.MULTILINE).group(1)
    page = (tmp_path / "s.html").read_text(encoding="utf-8")
    assert page.startswith('<!doctype html>\n<html lang="en">')
    assert net in page
    with (tmp_path / "s.csv").open(encoding="utf-8-sig", newline="") as file:
        assert net.replace(",", "") in {cell for row in csv.reader(file) for cell in row}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cashflow", *MAY), 'Invalid value "cashflow" for STATEMENT. Choose from: "cash-flow", "income"'),
        (("balance", *MAY), 'Did you mean "balance-sheet"?'),
        (("income", *MAY, "--compare", "last-year"), "'last_year' is unknown; did you mean 'prior_year'"),
        (("income", *MAY, "--compare", "sum"), "'sum' is unknown; choose from total, average, prior"),
        (("balance-sheet", *MAY, "--compare", "total"), "balances have no total"),
        (("trial-balance", *MAY, "--depth", "2"), "statements trial-balance has no --depth"),
        (("income", *MAY, "--output", "s.pdf"), "--output s.pdf must end in .xlsx, .csv or .html; nothing was loaded"),
        (("income", *MAY, "--output", "no/s.csv"), "does not exist; nothing was loaded"),
        (("cash-flow", *MAY, "--since", "2025-06-01"), "--since 2025-06-01 is after 2025-05-31"),
        (("cash-flow", *MAY, "--opening", "May"), "--opening 'May' is not a calendar date"),
        (("cash-flow", *MAY, "--opening", "2025-03-01"), "opening is 2025-03-01, but there are entries before that"),
        (("ageing", "--end-date", "30/06/2026"), "--end-date '30/06/2026' is not a calendar date; write it like"),
        (("income", "--start-date", "2026-01-01", "--end-date", "30.06.2026"), "--end-date '30.06.2026' is not a"),
        (("income", "--start-date", "1/1/2026", "--end-date", "2026-06-30"), "--start-date '1/1/2026' is not a"),
    ],
)
def test_bad_input_exits_2_with_one_line(run_demo, assert_refused, arguments, message):
    assert_refused(run_demo("statements", *arguments, code=2), message)


@pytest.mark.long
def test_periods_and_headings_follow_the_fiscal_year(run, run_demo, assert_refused, demo_books, tmp_path):
    fiscal = {"ACCOUNTING_ANALYTICS_FISCAL_YEAR_START_MONTH": "7"}
    arguments = ("statements", "income", "--books", demo_books, "--columns", "quarter", "--period")
    found = run(*arguments, "2024/25-Q3", "--json", **fiscal).content
    assert [one["label"] for one in found["columns"]] == ["Q3 2024/25"]
    assert found["columns"] == run(*arguments, "2025-01/2025-03", "--json", **fiscal).content["columns"]
    of_pack = ("pack", "--books", demo_books, "--output", tmp_path / "pack.html", "--period")
    for command in (arguments, of_pack):
        refused = run(*command, "2025-Q1", code=2, **fiscal)
        assert_refused(refused, "--period: '2025-Q1' has two readings", "2025-01/2025-03", "2024/25-Q1", "2025/26-Q1")
    bridged = ("bridge", "--period", "2024/25-Q4", "--against")
    assert_refused(run_demo(*bridged, "2025-Q1", code=2, **fiscal), "'2025-Q1' has two readings")
    assert "in Q4 2024/25 against -4,496.96 in Q3 2024/25" in run_demo(*bridged, "2024/25-Q3", **fiscal).stdout
    assert_refused(run(*arguments, "2024/25", code=2), "this one begins in January: write 2024")


def test_register_ends_with_the_trial_balance(run_demo, ledgers_and_lines):
    ledgers, lines = ledgers_and_lines
    balance = aa.trial_balance(aa.Books(lines, ledgers, "2025-05"))["Operating Account", "2025-05 debit"].exact()
    arguments = ("register", "operating account", *MAY)
    entries = run_demo(*arguments, "--json").content
    assert Decimal(entries[-1]["running_total"]) == balance
    assert {entry["local_date"][:7] for entry in entries} == {"2025-05"}
    assert "Processing Fees, Card Payments Processor" in {entry["opposing_ledgers"] for entry in entries}
    text = run_demo(*arguments).stdout
    moved = sum(Decimal(entry["amount"]) for entry in entries)
    heading = "Operating Account, May 2025 (America/New_York)"
    assert text.startswith(f"{heading}: {len(entries)} entries, debits less credits {moved:,}\n")
    assert f"{balance:,}" in text.splitlines()[-2]
    assert text == run_demo("register", "led_operating", *MAY).stdout  # the first entry is found


def test_register_of_a_parent_has_entries_below_it(run_demo, ledgers_and_lines):
    ledgers, lines = ledgers_and_lines
    below = ledgers.loc[ledgers["parent_id"] == ledgers.set_index("name").loc["Premises", "id"], "id"]
    of_may = lines[lines["ledger_id"].isin(below) & lines["local_date"].between("2025-05-01", "2025-05-31")]
    entries = run_demo("register", "Premises", *MAY, "--json").content
    assert {entry["id"] for entry in entries} == set(of_may["id"]) != set()
    assert sum(Decimal(entry["amount"]) for entry in entries) == Decimal(str(round(of_may["signed_amount"].sum(), 2)))
    assert {"Rent", "Utilities"} <= {entry["ledger_name"] for entry in entries}
    assert "account" in run_demo("register", "Premises", *MAY).stdout.splitlines()[2]
    empty = run_demo("register", "Rent", "--period", "2027-01")
    assert "Rent, Jan 2027 (America/New_York): 0 entries" in empty.stdout


def test_ages_of_parties_sum_to_ledger_balances(run_demo, ledgers_and_lines, assert_refused):
    parties = run_demo("statements", "ageing", *MAY, "--json").content["counterparties"]
    _, lines = ledgers_and_lines
    until = lines[(lines["ledger_name"] == "Wholesale Receivables") & (lines["local_date"] <= "2025-05-31")]
    totals = [Decimal(one["total"]) for one in parties if one["ledger_name"] == "Wholesale Receivables"]
    assert sum(totals) == Decimal(str(round(until["signed_amount"].sum(), 2))) > 0
    refused = run_demo("statements", "ageing", *MAY, "--compare", "prior", code=2)
    assert_refused(refused, "statements ageing has no --compare: leave it out; nothing was loaded")


def test_ages_and_recurrence_need_only_the_last_day(run_demo):
    last = ("--end-date", "2025-05-31")
    aged = run_demo("statements", "ageing", *last, "--aged-ledger", "Supplier Payables")
    assert "Wholesale" not in aged.stdout
    assert re.search(r"^ +ROYAL GREEN IMPORTERS +30 May 2025 +3,782.45$", aged.stdout, re.MULTILINE)
    recurring = run_demo("statements", "recurring", *last, "--json")
    rent = [one for one in recurring.content["payments"] if one["category"] == "Rent"]
    assert [(one["rhythm"], one["next_date"][:10], one["next_amount"]) for one in rent] == [
        ("monthly", "2025-06-01", "-7600.00")
    ]


def test_service_report_is_shown_in_sections_or_raw(run_demo):
    finished = run_demo("report", *MAY)
    assert finished.stdout.startswith("Harbor Lane Coffee Roasters\nCash flow statement\n")
    assert re.search(r"^Cash at the end +[\d,.]+$", finished.stdout, re.MULTILINE)
    raw = run_demo("report", *MAY, "--raw")
    assert raw.stdout.startswith("Cash flow report, May 2025")
    ending = re.search(r"ending cash balance ([\d,.]+)\.\n", raw.stdout).group(1)
    assert f" {ending}\n" in finished.stdout


@pytest.mark.parametrize(
    ("configured", "option", "zone"),
    [(None, (), "UTC"), ("Asia/Tokyo", (), "Asia/Tokyo"), ("Asia/Tokyo", ("--time-zone", "UTC"), "UTC")],
)
def test_zone_is_the_option_the_configuration_or_utc(run_demo, configured, option, zone):
    finished = run_demo("report", *MAY, *option, "--json", ACCOUNTING_ANALYTICS_TIME_ZONE=configured or "")
    assert finished.content["time_zone"] == zone
    message = "no time zone is configured, so the days are those of UTC\n"
    assert finished.stderr == (message if configured is None else "")


@pytest.mark.long
def test_bridges_are_those_of_python(run_demo, demo_company):
    arguments = ("bridge", "--period", "2026-05", "--against", "prior-year", "--statement", "income", "--largest", "4")
    finished = run_demo(*arguments, "--json")
    days = ("2024-04-01", "2026-05-31")
    ledgers = aa.discover_ledgers(demo_company.client, demo_company.start_date, demo_company.end_date)
    books = aa.Books(aa.load_line_entries(demo_company.client, ledgers["id"], *days), ledgers)
    expected = aa.bridge(books, "2026-05", against="prior_year", total="net_income", largest=4)
    found, wanted = finished.content, json.loads(expected.to_json())
    assert {**found, "notes": None} == {**wanted, "notes": None}
    text = run_demo(*arguments).stdout
    assert " ".join(text.split()).startswith(" ".join(" ".join(expected.sentences()).split()))


def test_every_step_is_listed_below_the_sentences(run, demo_books):
    arguments = ("bridge", "--period", "2025-03", "--books", demo_books, "--largest", "200")
    steps = run(*arguments, "--json").content["steps"]
    assert len(steps) > 8
    printed = run(*arguments).stdout.split("change", 1)[1]
    assert all(step["label"][:20] in printed for step in steps)


def test_local_books_are_bridged_offline(run, demo_books):
    finished = run("bridge", "--period", "2025-03", "--books", demo_books)
    assert finished.stdout.startswith("Net change in cash: ")
    refused = run("bridge", "--period", "2025-01", "--books", demo_books, code=2)
    assert "cannot be bridged" in refused.stderr


def test_unreadable_comparison_periods_are_refused_first(run):
    refused = run("bridge", "--demo", "--period", "2026-05", "--against", "previous", code=2)
    assert "'previous'" in refused.stderr
    assert "2026-Q1" in refused.stderr


def test_an_outlook_is_that_of_python(run_demo, demo_company, tmp_path):
    start = str(demo_company.start_date)
    (tmp_path / "known.csv").write_text("date,amount,note\n2025-11-10,-2500,new grinder\n")
    asked = ("--known", "known.csv", "--limit", "60000", "--weeks", "8")
    arguments = ("outlook", "--end-date", "2025-10-31", *asked)
    finished = run_demo(*arguments, "--json")
    ledgers = aa.discover_ledgers(demo_company.client, start, "2025-10-31")
    lines = aa.load_line_entries(demo_company.client, ledgers["id"], start, "2025-10-31")
    expected = aa.outlook(
        aa.Books(lines, ledgers, opening=start), as_of="2025-10-31", weeks=8, known=tmp_path / "known.csv", limit=60_000
    )
    assert {**finished.content, "notes": None} == {**json.loads(expected.to_json()), "notes": None}
    text = " ".join(run_demo(*arguments).stdout.split())
    assert all(" ".join(one.split()) in text for one in (expected.summary(), *expected.sentences()))
    assert "-2,500.00 new grinder (known)" in text


def test_outlook_inputs_are_refused_before_a_load(run, assert_refused, demo_books, tmp_path):
    assert_refused(run("outlook", "--end-date", "2026-05-31", "--known", "none.csv", code=2), "none.csv cannot be read")
    wrong_day = run("outlook", "--demo", "--end-date", "30/06/2026", code=2)
    assert_refused(wrong_day, "--end-date '30/06/2026' is not a calendar date; write it like 2025-01-31")
    (tmp_path / "known.csv").write_text("day,amount\n2026-06-10,-2500\n")
    assert_refused(run("outlook", "--end-date", "2026-05-31", "--known", "known.csv", code=2), "known lacks date")
    assert_refused(run("outlook", "--books", demo_books, code=3), "an outlook takes 26 weeks of lines that move cash")


def test_thousands_are_printed_and_json_is_exact(run_demo, tmp_path):
    arguments = ("statements", "income", *MAY)
    plain, shown = run_demo(*arguments), run_demo(*arguments, "--amounts-in", "k", "--output", tmp_path / "may.html")
    rent = re.search(r"Rent +([0-9,.]+)\n", plain.stdout)[1]
    thousands = f"{Decimal(rent.replace(',', '')) / 1000:.1f}"
    assert re.search(r"Rent +([0-9,.]+)\n", shown.stdout)[1] == thousands
    assert "USD thousands" in shown.stdout
    page = (tmp_path / "may.html").read_text()
    assert f">{thousands}</td>" in page
    assert "USD thousands" in page
    assert run_demo(*arguments, "--json").content == run_demo(*arguments, "--amounts-in", "k", "--json").content
    refused = run_demo("statements", "ageing", "--amounts-in", "k", code=2)
    assert "statements ageing has no --amounts-in" in refused.stderr
    run_demo(*arguments, "--amounts-in", "K", code=2)
