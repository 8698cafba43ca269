"""Exports from local books: the verdict is that of the sync."""

import datetime as dt
import json
import pickle
import shutil
from typing import NamedTuple

import pyarrow.parquet as pq
import pytest
from posted_books import post_to

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError
from accounting_analytics.demo_company import DemoCompany
from accounting_analytics.exports.books_to_export import MonthProof
from accounting_analytics.local_books.versions import MonthRecord

ZONE = "America/New_York"
AGREES = "The service's cash flow report agrees with the line entries to the last digit."
READ, COMPARED = dt.datetime(2025, 5, 1, tzinfo=dt.UTC), dt.datetime(2025, 5, 2, tzinfo=dt.UTC)


class Company(NamedTuple):
    """A company whose books tests may change, and local books of its first months."""

    served: DemoCompany
    books: aa.LocalBooks

    def recategorize(self, month):
        """Give a transaction of a month another category."""
        lines = self.books.sql(f"""
            select transaction_id, cash_ledger_id, ledger_id from cash_flow
            where month = '{month}' and transaction_id is not null and type = 'expense' order by line_id limit 1
        """)  # noqa: S608 (our own month)
        ledgers = self.books.sql("select ledger_id from dim_ledger where type = 'expense' and level = 2")["ledger_id"]
        line = lines.iloc[0]
        self.served.client.recategorize_transaction(
            line["cash_ledger_id"],
            line["transaction_id"],
            category_ledger_id=line["ledger_id"],
            updated_category_ledger_id=next(one for one in ledgers if one != line["ledger_id"]),
        )

    def pay(self, day):
        entry = (day, {"led_rent": "12.34", "led_operating": "-12.34"}, "Payment")
        post_to(self.served.database, self.served.instance_id, entry)

    def sync(self):
        """Sync the books; all months must agree."""
        assert self.books.sync(self.served.client, end_date="2025-04-30").ties


@pytest.fixture(scope="module")
def synced(tmp_path_factory):
    """Return a company, and the folder of local books of its first months."""
    folder = tmp_path_factory.mktemp("company")
    with aa.demo(database=folder / "books.db") as served:
        aa.LocalBooks.open(folder / "books").sync(served.client, start_date="2025-01-01", end_date="2025-04-30")
        yield served, folder / "books"


@pytest.fixture
def synced_company(synced, tmp_path):
    """Return the company, whose changes stay for later tests, and a copy of the books up to date with it."""
    served, folder = synced
    copy = Company(served, aa.LocalBooks.open(shutil.copytree(folder, tmp_path / "books")))
    copy.sync()
    return copy


def files(output):
    """Return the inode of each file of the current version."""
    return {
        path.relative_to(output / "current").as_posix(): path.stat().st_ino
        for path in (output / "current").rglob("*.parquet")
    }


@pytest.mark.long
def test_manifest_names_service_instance_and_version(synced_company, tmp_path):
    manifest = aa.export(aa.load_books(synced_company.books), tmp_path / "out")
    assert manifest.books_version == synced_company.books.version
    stated = json.loads((tmp_path / "out" / "current" / "manifest.json").read_bytes())
    assert stated["local_books"] == f"{synced_company.served.base_url} {synced_company.served.instance_id}"
    assert stated["books_version"] == synced_company.books.version
    assert aa.verify_export(tmp_path / "out").verified


def test_the_verdict_is_that_of_the_sync(demo_books, tmp_path):
    """A report that is recomputed from the same lines proves nothing: the verdict and times are those of the sync."""
    books = aa.LocalBooks.open(demo_books)
    manifest = aa.export(aa.load_books(books), tmp_path / "out")
    proofs = books.month_proofs(books.period)
    assert manifest.verdict == AGREES
    assert tuple(proofs) == ("2025-01", "2025-02", "2025-03")
    loads = pq.read_table(manifest.folder / "dim_load.parquet").to_pylist()
    for rows in (loads, books.sql("from dim_load").to_dict("records")):
        assert {row["month"]: stated_proof(row) for row in rows} == proofs


def stated_proof(row):
    return MonthProof(row["verdict"], row["read_at_utc"], row["proven_at_utc"], not row["is_partial"])


class DoubtfulBooks(aa.LocalBooks):
    """Books of which one month did not agree with the service's report."""

    def month_proofs(self, period):
        """Return the proofs, that of March with a difference."""
        proofs = super().month_proofs(period)
        doubtful = MonthProof("It does not agree.", proofs["2025-03"].read_at, is_complete=False)
        return {**proofs, "2025-03": doubtful}


@pytest.mark.long
def test_months_that_do_not_agree_are_stated(synced_company, tmp_path):
    manifest = aa.export(aa.load_books(DoubtfulBooks.open(synced_company.books.folder)), tmp_path / "out")
    assert manifest.verdict == f"From 2025-01: {AGREES} From 2025-03: It does not agree."
    assert manifest.summary().startswith("PARTIAL: ")
    loads = DoubtfulBooks.open(synced_company.books.folder).sql("select month from dim_load where is_partial")
    assert loads["month"].tolist() == ["2025-03"]
    exported = pq.read_table(manifest.folder / "dim_load.parquet").to_pylist()
    assert [row["month"] for row in exported if row["proven_at_utc"] is None] == ["2025-03"]


@pytest.mark.parametrize(
    ("month", "verdict", "is_proven"),
    [
        (MonthRecord(READ, complete=True), AGREES, True),
        (
            MonthRecord(READ, complete=True, problem="1 difference"),
            "The service's report does not agree with the line entries: 1 difference.",
            False,
        ),
        (
            MonthRecord(READ, complete=False, problem="1 entry does not balance"),
            "Journal entries are not complete: 1 entry does not balance.",
            False,
        ),
    ],
)
def test_month_is_proven_when_its_report_agrees(month, verdict, is_proven):
    proof = month.proof(COMPARED)
    assert (proof.verdict, proof.is_complete) == (verdict, month.complete)
    assert proof.proven_at == (COMPARED if is_proven else None)


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("duckdb", "o.duckdb"),
        pytest.param("csv", "o", marks=pytest.mark.long),
    ],
)
@pytest.mark.long
def test_other_formats_export_books_too(name, output, synced_company, tmp_path):
    manifest = aa.export(aa.load_books(synced_company.books), tmp_path / output, "2025-03", format=name)
    assert (manifest.start_date, manifest.end_date, manifest.verdict) == ("2025-03-01", "2025-03-31", AGREES)
    assert manifest.books_version == synced_company.books.version


@pytest.mark.long
def test_earlier_version_is_exported_and_queried(synced_company, tmp_path):
    books, version = synced_company.books, synced_company.books.version
    text = "select sum(amount) as rent from cash_flow where ledger_id = 'led_rent' and month = '2025-04'"
    before = books.sql(text)["rent"][0]
    synced_company.pay(dt.datetime(2025, 4, 11, 12, tzinfo=dt.UTC))
    synced_company.sync()
    assert round(books.sql(text)["rent"][0] - before, 2) == -12.34
    earlier = books.as_of(version)
    assert earlier.sql(text)["rent"][0] == before
    assert aa.export(aa.load_books(earlier), tmp_path / "out").books_version == version
    assert books.sql(text).attrs["notes"] == books.notes
    assert pickle.loads(pickle.dumps(books)).sql(text).equals(books.sql(text))  # noqa: S301 (written here)
    assert earlier.sql(text).attrs["notes"] == earlier.notes


@pytest.mark.long
def test_what_does_not_fit_is_refused(synced_company, tmp_path):
    books, output = aa.load_books(synced_company.books), tmp_path / "out"
    earlier, in_utc = ("2024-12-01", "2025-01-31"), aa.Period("2025-03-01", "2025-03-31", "UTC")
    report = synced_company.books.report(aa.Period("2025-03-01", "2025-03-31", ZONE))
    aa.export(books, output)
    before = files(output)
    for export, message in (
        (lambda: aa.export(books.with_reports([report]), output), "a report was recomputed from line entries"),
        (lambda: aa.export(aa.load_books(synced_company.books, earlier), output), "which does not include all of"),
        (lambda: aa.export(books, output, earlier), "which does not include all of"),
        (lambda: aa.export(books, output, in_utc), "is not of the zone America/New_York"),
        (lambda: aa.export(aa.load_books(aa.LocalBooks.open(tmp_path / "new")), output), "has no local books yet: run"),
    ):
        with pytest.raises((InputError, aa.errors.PeriodError), match=message):
            export()
    assert files(output) == before
