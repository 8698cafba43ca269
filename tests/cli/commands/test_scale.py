"""Currencies of other than two fraction digits: what states them, and what does not."""

import signal
import subprocess
import sys

import pytest

import accounting_analytics as aa

HEADER = "entry_id,datetime,entry_description,ledger,debit_credit,amount\n"
SALE = "e1,2025-01-02,Sale,assets:bank,debit,{0}\ne1,2025-01-02,Sale,income:sales,credit,{0}\n"
DAYS = ("--start-date", "2025-01-01", "--end-date", "2025-01-31", "--time-zone", "UTC")
LEDGERS = {"bank": "bank_account", "sales": "revenue operating_revenues credit"}


@pytest.fixture
def of_eight_digits(posted_books):
    """Books of eight digits, whose amounts are all within 1e-6 of a cent."""
    return posted_books.create([("2025-01-02", {"bank": "0.01000001", "sales": "-0.01000001"})], LEDGERS, scale=8)


@pytest.mark.parametrize("how", ["option", "setting", "profile"])
def test_import_and_serve_state_the_digits(run, run_on_books, tmp_path, how):
    (tmp_path / "lines.csv").write_text(HEADER + SALE.format("1.234"))
    command = ("import", "lines.csv", "--cash", "assets:bank", "--time-zone", "UTC")
    refused = run_on_books(*command, code=2).stderr
    assert "line 2: amount '1.234' does not fit 2 fraction digits" in refused
    assert "scale=3" in refused
    (tmp_path / "config/accounting-analytics").mkdir(parents=True)
    if how == "profile":
        (tmp_path / "config/accounting-analytics/config.toml").write_text("[default]\nscale = 3\n")
    option = ("--scale", 3) if how == "option" else ()
    run_on_books(*command, *option, **({"ACCOUNTING_ANALYTICS_SCALE": "3"} if how == "setting" else {}))
    served = [sys.executable, "-u", "-m", "accounting_analytics", "serve", "--database", "books.db"]
    process = subprocess.Popen(served, stdout=subprocess.PIPE, text=True, cwd=tmp_path)  # noqa: S603 (our program)
    try:
        printed = [process.stdout.readline().strip() for _ in range(12)]
        exported = dict(line.removeprefix("export ").split("=", 1) for line in printed if line.startswith("export "))
        assert exported["ACCOUNTING_ANALYTICS_SCALE"] == "3"
        for settings, given in ((exported, ()), (exported | {"ACCOUNTING_ANALYTICS_SCALE": ""}, ("--scale", 3))):
            report = run("report", *DAYS, *given, "--json", **settings).content
            assert report["ending_cash_balance"] == "1.234"
            assert "debits = credits = 1.234" in run("reconcile", *DAYS, *given, **settings).stderr
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def test_amounts_near_a_cent_are_not_rounded(run, of_eight_digits, tmp_path):
    settings = of_eight_digits.environment()
    for command in (("report",), ("statements", "income"), ("sync", "--books", "copy"), ("register", "bank")):
        refused = run(*command, *DAYS, code=4, **settings).stderr
        assert "amount 0.01000001 does not fit 2 fraction digits" in refused
        assert "scale=8" in refused
    assert not (tmp_path / "copy").exists() or not list((tmp_path / "copy").glob("versions/*"))
    report = run("report", *DAYS, "--scale", 8, "--json", **settings).content
    assert report["ending_cash_balance"] == "0.01000001"
    run("sync", "--books", "copy", *DAYS, "--scale", 8, **settings)
    assert "0.01000001" in run("statements", "income", *DAYS, "--books", "copy").stdout
    assert "state scale=8" in run("sync", "--books", "copy", code=2, **settings).stderr
    refused = run("statements", "income", *DAYS, "--books", "copy", "--scale", 2, code=2).stderr
    assert "--scale 2: the local books have amounts of 8 fraction digits; leave it out" in refused


def test_export_of_eight_digits_keeps_them_or_is_refused(of_eight_digits, tmp_path):
    with of_eight_digits.client(scale=8, time_zone="UTC") as client:
        lines = aa.load_line_entries(client, ["bank"], "2025-01-01", "2025-01-31")
    lines.to_csv(tmp_path / "lines.csv", index=False)
    with pytest.raises(aa.errors.AmountError, match=r"column 'amount', id .*: amount '0.01000001' .*scale=8"):
        aa.read_line_entries(tmp_path / "lines.csv")
    assert aa.read_line_entries(tmp_path / "lines.csv", scale=8)["amount"].tolist() == [0.01000001]


def test_the_demo_company_has_two_digits(run, assert_refused):
    refused = run("discover", *DAYS, "--demo", "--scale", 3, code=2)
    assert_refused(refused, "--scale 3: the demo company has amounts of 2 fraction digits; leave it out")
