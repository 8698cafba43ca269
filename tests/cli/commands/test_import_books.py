"""Imports of books from the command line."""

import csv
import datetime as dt
import io
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from broken_invariants import broken_invariants
from long_cases import also_long

from accounting_analytics.service.database import Store

PROJECT = Path(__file__).parents[3]
HEADER = "entry_id,datetime,entry_description,ledger,debit_credit,amount\n"


def count_entries(store):
    with store.reading() as connection:
        return connection.exec_driver_sql("select count(*) from journal_entries").scalar_one()


def test_days_are_those_of_the_configured_zone(run, tmp_path):
    rows = "e1,2025-01-02,Sale,assets:bank,debit,1\ne1,2025-01-02,Sale,income:sales,credit,1\n"
    (tmp_path / "lines.csv").write_text(HEADER + rows)
    zone = {"ACCOUNTING_ANALYTICS_TIME_ZONE": "Pacific/Auckland"}
    command = ("import", "lines.csv", "--database", "books.db", "--cash", "assets:bank", "--json")
    summary = run(*command, **zone).content
    assert (summary["start_date"], summary["end_date"]) == ("2025-01-02", "2025-01-02")
    with Store.open(tmp_path / "books.db") as store, store.reading() as connection:
        (instant,) = connection.exec_driver_sql("select datetime from journal_entries").scalars()
    assert instant == dt.datetime(2025, 1, 1, 23, tzinfo=dt.UTC).timestamp() * 1_000_000


@pytest.mark.parametrize("number", [signal.SIGTERM, *also_long(signal.SIGINT)])
def test_stopped_import_exits_5_and_posts_nothing(tmp_path, number):
    rows = (f"e{n},2025-01-01,x,assets:bank,debit,1\ne{n},2025-01-01,x,income:sales,credit,1\n" for n in range(200_000))
    (tmp_path / "books.csv").write_text(HEADER + "".join(rows))
    command = [sys.executable, "-m", "accounting_analytics", "import", "books.csv", "--database", "books.db"]
    command += ["--cash", "assets:*", "--time-zone", "UTC"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)  # noqa: S603
    while not (tmp_path / "books.db.token").exists():
        time.sleep(0.01)
    process.send_signal(number)
    try:
        _, messages = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:  # Python drops a KeyboardInterrupt that arrives in a callback of its collector
        process.send_signal(number)
        _, messages = process.communicate(timeout=120)
    assert (process.returncode, messages.splitlines()[-1]) == (5, "stopped")
    with Store.open(tmp_path / "books.db") as store:
        assert (broken_invariants(store), count_entries(store)) == ([], 0)


def test_a_refused_first_import_can_be_repeated(run, assert_refused, tmp_path):
    lines = PROJECT / "data/sample_lines.csv"
    zone = ("--time-zone", "UTC")
    assert_refused(run("import", lines, "--database", "books.db", *zone, code=2), "declare it as cash")
    assert not list(tmp_path.glob("*.token"))
    cash = ("--cash", "assets:bank*", "--cash", "liabilities:card")
    finished = run("import", lines, "--database", "books.db", "--instance", "acme", *cash, *zone, "--json")
    assert finished.content["instance_id"] == "acme", finished.stderr


def test_a_missing_file_creates_no_database(tmp_path, run_on_books):
    assert "nofile.csv" in run_on_books("import", "nofile.csv", code=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_books_without_cash_are_refused_unless_wanted(run, assert_refused, tmp_path):
    rows = "".join(
        f"e1,2025-01-02T12:00:00Z,x,{account},{side},1\n"
        for account, side in (
            ("Assets:Checking", "debit"),
            ("assets:stock", "debit"),
            ("income:bank interest", "credit"),
            ("liabilities:credit card", "credit"),
        )
    )
    (tmp_path / "lines.csv").write_text(HEADER + rows)
    command = ("import", "lines.csv", "--database", "books.db", "--time-zone", "UTC")
    likely = "likely: Assets:Checking, liabilities:credit card: give --cash Assets:Checking --cash 'liabilities:credit"
    assert_refused(
        run(*command, code=2), "no account reports cash flow", likely, "or --no-cash", "nothing was imported"
    )
    run(*command, "--no-cash")
    (tmp_path / "lines.csv").write_text(HEADER + rows.replace("e1", "e2"))
    assert_refused(run(*command, code=2), "no account reports cash flow")
    more = rows.replace("e1", "e3").replace("Checking", "till").replace("credit card", "loan")
    (tmp_path / "lines.csv").write_text(HEADER + more)
    assert_refused(
        run(*command, code=2), "none of them looks like one: give --cash PATTERN (cash=['PATTERN']), or --no-cash"
    )
    run(*command, "--cash", "assets:till")
    (tmp_path / "lines.csv").write_text(HEADER + rows.replace("e1", "e4"))
    run(*command)  # the instance has a cash account now


@pytest.fixture
def sale(tmp_path):
    """Return the command that imports a sale of a bare day as CSV."""
    rows = "e1,2025-01-02,Sale,assets:bank,debit,1\ne1,2025-01-02,Sale,income:sales,credit,1\n"
    (tmp_path / "lines.csv").write_text(HEADER + rows)
    return ("import", "lines.csv", "--cash", "assets:bank")


def test_first_import_states_the_zone_for_later_ones(run_on_books, assert_refused, tmp_path, sale):
    for option in ((), ("--dry-run",)):
        refused = run_on_books(*sale, *option, code=2)
        assert_refused(refused, "nothing states in which time zone the days of books.db", "--time-zone", "TIME_ZONE")
    assert not (tmp_path / "books.db.token").exists()
    assert run_on_books(*sale, "--time-zone", "Asia/Tokyo", "--json").content["time_zone"] == "Asia/Tokyo"
    assert run_on_books(*sale, "--json").content["time_zone"] == "Asia/Tokyo"
    for option, settings in ((("--time-zone", "UTC"), {}), ((), {"ACCOUNTING_ANALYTICS_TIME_ZONE": "UTC"})):
        refused = run_on_books(*sale, *option, **settings, code=2)
        assert_refused(refused, "counted in Asia/Tokyo, and this import states UTC", "--time-zone Asia/Tokyo")
    (row,) = run_on_books("service", "instances", "list", "--json").content
    assert row["localtime"] == "Asia/Tokyo"


def test_books_created_without_a_zone_get_that_of_their_first_import(run_on_books, assert_refused, sale):
    run_on_books("service", "instances", "create", "--instance", "a")
    run_on_books("service", "instances", "create", "--instance", "b", "--time-zone", "Asia/Tokyo")
    assert_refused(run_on_books(*sale, "--instance", "a", code=2), "nothing states in which time zone")
    run_on_books(*sale, "--instance", "a", "--time-zone", "UTC")
    assert_refused(run_on_books(*sale, "--instance", "b", "--time-zone", "UTC", code=2), "counted in Asia/Tokyo")
    run_on_books(*sale, "--instance", "b")
    rows = run_on_books("service", "instances", "list", "--json").content
    assert [(row["id"], row["localtime"]) for row in rows] == [("a", "UTC"), ("b", "Asia/Tokyo")]


def test_company_and_currency_are_asked_for_and_kept(run_on_books, assert_refused, sale):
    asked = run_on_books(*sale, "--time-zone", "UTC").stderr
    assert "Nothing states the company and the currency that statements are headed with: repeat" in asked
    assert "this command with --company NAME --currency CODE" in asked
    stated = ("--company", "Harbour & Pine Ltd", "--currency", "GBP")
    assert "Nothing states" not in run_on_books(*sale, *stated).stderr
    kept = run_on_books(*sale)
    assert "company: Harbour & Pine Ltd\ncurrency: GBP\n" in kept.stdout
    assert "Nothing states" not in kept.stderr
    assert run_on_books(*sale, "--company", "Pine & Co", "--json").content["company"] == "Pine & Co"
    (row,) = run_on_books("service", "instances", "list", "--json").content
    assert (row["company"], row["currency"]) == ("Pine & Co", "GBP")
    assert_refused(run_on_books(*sale, "--company", " ", code=2), "company is ' '; it must be 1 to 200 printable")


@pytest.mark.hledger
def test_a_journal_states_its_currency(run_on_books, assert_refused, tmp_path):
    journal = tmp_path / "books.journal"
    journal.write_text(SALE.format(entry="", cash="", category=""), encoding="utf-8")
    command = ("import", journal.name, "--cash", "assets:bank", "--time-zone", "UTC")
    refused = run_on_books(*command, "--currency", "GBP", code=2)
    assert_refused(refused, "its amounts are in EUR, and --currency (currency=) is GBP")
    asked = run_on_books(*command)
    assert "currency: EUR" in asked.stdout
    assert "Nothing states the company that statements are headed with" in asked.stderr
    journal.write_text(journal.read_text().replace("EUR", "GBP"), encoding="utf-8")
    refused = run_on_books(*command, code=2)
    assert_refused(refused, "its amounts are in GBP, and the books so far are in EUR", "state --currency GBP")
    assert "currency: GBP" in run_on_books(*command, "--currency", "GBP").stdout
    journal.write_text(journal.read_text().replace("GBP", "$"), encoding="utf-8")
    assert "currency: GBP" in run_on_books(*command).stdout  # a sign is no code
    assert "currency: £" in run_on_books(*command, "--currency", "£").stdout


@pytest.mark.parametrize("how", ["Python", "shell"])
def test_printed_lines_serve_and_connect(run, run_on_books, tmp_path, sale, how):
    stated = ("--company", 'Harbour "&" Pine', "--currency", "GBP", "--time-zone", "Asia/Tokyo")
    lines = run_on_books(*sale, *stated).stderr.splitlines()
    serve = next(line for line in lines if line.startswith("Imported.")).partition("accounting-analytics ")[2]
    server = subprocess.Popen(  # noqa: S603 (our own program)
        [sys.executable, "-u", "-m", "accounting_analytics", *shlex.split(serve)],
        stdout=subprocess.PIPE, text=True, cwd=tmp_path,
    )  # fmt: skip
    try:
        served = [server.stdout.readline().rstrip("\n") for _ in range(2 + len(lines[1:]))]
        assert served[2:] == lines[1:]
        start = lines.index("or from another terminal:")
        if how == "Python":
            program = [line.strip() for line in lines[2:start]]
            program += ["print(books.company, books.currency, books.time_zone, books.notes)"]
            command = [sys.executable, "-c", "\n".join(program)]
            printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
            assert printed.startswith('Harbour "&" Pine GBP Asia/Tokyo (\'4 ledgers are known')
            assert printed.count("'") == 2
        else:
            exported = dict(shlex.split(line)[1].split("=", 1) for line in lines[start + 1 :])
            month = ("--start-date", "2025-01-01", "--end-date", "2025-01-31")
            printed = run("statements", "income", *month, **exported).stdout
            assert 'Harbour "&" Pine' in printed
            assert "days in Asia/Tokyo" in printed
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=60)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_utc_midnights_in_another_zone_need_an_option(run_on_books, assert_refused, tmp_path, kind):
    rows = "".join(
        f"e{day},2025-02-0{day}T00:00:00Z,x,{account},{side},1\n"
        for day in (1, 2)
        for account, side in (("assets:bank", "debit"), ("income:sales", "credit"))
    )
    (tmp_path / "lines.csv").write_text(HEADER + rows)
    if kind == "parquet":
        frame = pd.read_csv(tmp_path / "lines.csv", dtype=str)
        frame.assign(datetime=pd.to_datetime(frame["datetime"], utc=True)).to_parquet(tmp_path / "lines.parquet")
    command = ("import", f"lines.{kind}", "--cash", "assets:bank", "--json")
    zone = ("--time-zone", "America/New_York")
    readings = "as days the first is 2025-02-01, as instants it is 2025-01-31 19:00 in America/New_York"
    assert_refused(run_on_books(*command, *zone, code=2), readings, "state --midnights days or --midnights instants")
    for midnights, first in (("days", "2025-02-01"), ("instants", "2025-01-31")):
        dry = run_on_books(*command, *zone, "--midnights", midnights, "--dry-run").content
        assert dry["start_date"] == first
    assert run_on_books(*command, "--time-zone", "UTC", "--dry-run").content["start_date"] == "2025-02-01"
    mixed = HEADER + rows + rows.replace("e1", "e3").replace("e2", "e4").replace("T00:00:00Z", "")
    (tmp_path / "mixed.csv").write_text(mixed)
    assert_refused(run_on_books("import", "mixed.csv", *command[2:], *zone, code=2), "all instants are midnights")
    evening = mixed.replace("e2,2025-02-02T00:00:00Z", "e2,2025-02-02T19:00:00Z")
    (tmp_path / "evening.csv").write_text(evening)
    run_on_books("import", "evening.csv", *command[2:], *zone, "--dry-run")
    refused = run_on_books("import", "evening.csv", *command[2:], *zone, "--midnights", "days", code=2)
    assert_refused(refused, "line 4: datetime '2025-02-02T19:00:00Z' is not a midnight of UTC")


def test_dry_run_prints_accounts_and_creates_nothing(run, tmp_path):
    options = ("--cash", "assets:bank*", "--cash", "liabilities:card", "--time-zone", "UTC")
    command = ("import", PROJECT / "data/sample_lines.csv", "--database", "books.db", "--dry-run", *options)
    summary = run(*command, "--json").content
    assert (summary["entries"], summary["lines"]) == (8, 19)
    printed = run(*command)
    assert "liabilities:card" in printed.stdout
    assert "entries: 8" in printed.stdout
    assert {path.name for path in tmp_path.iterdir()} <= {"config"}


def test_a_dry_run_prints_every_problem(run, tmp_path):
    rows = "".join(
        f"e{n},2025-01-0{n},Shop {n},expenses:food,debit,{n}.5{n}\ne{n},2025-01-0{n},Shop {n},assets:bank,credit,1\n"
        for n in range(1, 8)
    )
    (tmp_path / "lines.csv").write_text(HEADER + rows.replace("2.52", "2,52x") + "x,2025-01-09\n", encoding="utf-8")
    (tmp_path / "other.csv").write_text(HEADER + rows.replace("3.53", "?"), encoding="utf-8")
    command = ("--database", "books.db", "--dry-run", "--time-zone", "UTC")
    finished = run("import", "lines.csv", *command, code=2)
    assert "lines.csv, line 16: has 2 fields" in finished.stdout
    finished = run("import", "other.csv", *command, code=2)
    assert len(finished.stdout.splitlines()) == 7
    assert "other.csv, line 2, 2025-01-01 Shop 1: entry 'e1' (2 lines) does not balance" in finished.stdout
    assert "other.csv, line 6, 2025-01-03 Shop 3: '?' is not an amount" in finished.stdout
    assert "error: an import would be refused: 7 problems" in finished.stderr
    problems = run("import", "other.csv", *command, "--json", code=2).content["problems"]
    assert problems[-1]["description"] == "Shop 7"


def test_dry_run_compares_with_existing_books_and_posts_nothing(run, tmp_path):
    first, second, third, fourth = (
        f"e{n},2025-01-0{n},Shop {n},expenses:food,debit,{n}\ne{n},2025-01-0{n},Shop {n},assets:bank,credit,{n}\n"
        for n in range(1, 5)
    )
    (tmp_path / "lines.csv").write_text(HEADER + first + second + third, encoding="utf-8")
    (tmp_path / "next.csv").write_text(HEADER + first + third + fourth, encoding="utf-8")
    (tmp_path / "other.csv").write_text(HEADER + first + third.replace("Shop", "Store") + fourth, encoding="utf-8")
    command = ("--database", "books.db", "--cash", "assets:bank", "--time-zone", "UTC")
    run("import", "lines.csv", *command)
    finished = run("import", "next.csv", *command, "--dry-run")
    assert "entries: 1" in finished.stdout
    assert "2 entries are in the books already" in finished.stderr
    assert "in the books, not in the file any more: 2025-01-02 'Shop 2'" in finished.stderr
    for option in ((), ("--dry-run",)):
        refused = run("import", "other.csv", *command, *option, code=3)
        assert "line 4: 2025-01-03 'Shop 3': the file has the text 'Store 3'" in refused.stderr
    with Store.open(tmp_path / "books.db") as store:
        assert count_entries(store) == 3


COMMAND = ("--database", "books.db", "--cash", "assets:bank", "--time-zone", "UTC")
SALE = "2025-01-01{entry} Sale\n    assets:bank   10 EUR  ; {cash}\n    income:pay   -10 EUR  ; {category}\n"


def days_of_hledger(file):
    """Day of each change of the bank account in a report of hledger."""
    command = ["hledger", "register", "-f", file, "assets:bank", "-O", "csv"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 (our file)
    return [row["date"] for row in csv.DictReader(io.StringIO(printed))]


@pytest.mark.hledger
@pytest.mark.parametrize(
    ("texts", "day"),
    [
        ({"cash": "date:2025-02-03", "category": "date:2/3"}, "2025-02-03"),
        ({"cash": "[2025-02-05=2025-02-06]", "category": "[2025-02-05]"}, "2025-02-05"),
        (
            {"cash": "mydate:2025-09-09, date:2025-02-07", "category": "date:2025-02-07\n    income:tips  0"},
            "2025-02-07",
        ),
        ({"cash": "date:2025-02-07", "category": "date:2025-02-07\n    (budget:pay)  1 EUR"}, "2025-02-07"),
        ({"cash": "date2:2025-03-01", "category": "[=2025-03-01]"}, "2025-01-01"),
        ({"entry": "=2025-03-01"}, "2025-01-01"),
        ({"cash": "date:2025-01-01"}, "2025-01-01"),
    ],
    ids=["tags", "brackets", "zero", "virtual", "secondary tags", "secondary day", "the same day"],
)
def test_days_of_postings_decide_as_in_hledger(run, tmp_path, texts, day):
    journal = tmp_path / "books.journal"
    journal.write_text(SALE.format(**{"entry": "", "cash": "", "category": ""} | texts), encoding="utf-8")
    finished = run("import", journal.name, *COMMAND, "--json")
    summary = finished.content
    assert {summary["start_date"], summary["end_date"], *days_of_hledger(journal)} == {day}
    moved = "1 entries are on the day that all their postings have, which is not the day of the entry"
    assert (moved in finished.stderr) == (day != "2025-01-01")
    assert ("the secondary date of 1 entry was left out" in finished.stderr) == (
        "=2025" in str(texts) or "date2" in str(texts)
    )


def test_option_names_the_ledger_of_opening_balances(run, tmp_path):
    rows = (
        "e1,2025-01-01,Start,assets:bank,debit,100.00\ne1,2025-01-01,Start,equity:start,credit,100.00\n"
        "e2,2025-01-02,Sale,assets:bank,debit,25.00\ne2,2025-01-02,Sale,income:sales,credit,25.00\n"
    )
    (tmp_path / "lines.csv").write_text(HEADER + rows)
    command = ("import", "lines.csv", "--database", "books.db", "--cash", "assets:bank", "--time-zone", "UTC")
    finished = run(*command, "--opening-ledger", "equity:st*", "--dry-run")
    note = "entries of equity:start are opening balances, no inflow: they are on the ledger Opening Balance"
    assert note in " ".join(finished.stderr.split())
    refused = run(*command, "--opening-ledger", "income:sales", code=2)
    assert "only accounts of equity have opening balances" in " ".join(refused.stderr.split())


@pytest.mark.hledger
def test_changed_day_of_postings_is_refused_by_name(run, tmp_path):
    journal = tmp_path / "books.journal"
    journal.write_text(SALE.format(entry="", cash="date:2/3", category="date:2/3"), encoding="utf-8")
    run("import", journal.name, *COMMAND)
    assert "1 entries are in the books already" in run("import", journal.name, *COMMAND).stderr
    journal.write_text(SALE.format(entry="", cash="date:2/4", category="date:2/4"), encoding="utf-8")
    assert "2025-02-03 'Sale': the file has 2025-02-04" in run("import", journal.name, *COMMAND, code=3).stderr


@pytest.mark.hledger
@pytest.mark.parametrize("day", ["date:2025-02-03", "[2025-02-03]", "of March, date:2/3"])
def test_postings_on_several_days_are_refused_without_an_option(run, assert_refused, tmp_path, day):
    journal = tmp_path / "books.journal"
    first = "2025-01-01 First\n    assets:bank  1 EUR\n    income:pay\n\n"
    journal.write_text(first + SALE.format(entry="", cash=day, category=""), encoding="utf-8")
    several = "line 5: the postings of this entry have several days (2025-01-01, 2025-02-03)"
    assert_refused(run("import", journal.name, *COMMAND, code=2), several, "(2025-01-01 'Sale')", "--use-entry-dates")
    finished = run("import", journal.name, *COMMAND, "--use-entry-dates", "--json")
    summary = finished.content
    assert (summary["start_date"], summary["end_date"], summary["entries"]) == ("2025-01-01", "2025-01-01", 2)
    assert "1 entries, whose postings have several days, are on the day of the entry" in finished.stderr


@pytest.mark.hledger
def test_virtual_postings_keep_their_day(run, tmp_path):
    (tmp_path / "books.journal").write_text("2025-01-01 Budget\n    (assets:bank)   3  ; date:2025-02-03\n")
    summary = run("import", "books.journal", *COMMAND, "--virtual", "--json").content
    assert (summary["start_date"], summary["end_date"]) == ("2025-02-03", "2025-02-03")
