"""Carrying out a plan on a real service, with answers lost, changes made elsewhere, and runs cut short."""

import json
import sqlite3

import httpx
import pytest

import accounting_analytics as aa
from accounting_analytics.errors import AuthenticationError, BooksDoNotTieError, PlanError
from accounting_analytics.recategorization import verify_report_change


class Faulty(httpx.BaseTransport):
    """The real transport, with a fault on the n-th PUT: before it is sent, or after it was answered."""

    def __init__(self, fault, *, on_put):
        self._real = httpx.HTTPTransport()
        self._fault = fault
        self._on_put = on_put
        self.puts = 0

    def handle_request(self, request):
        """Send the request, or fail as asked."""
        if request.method != "PUT":
            return self._real.handle_request(request)
        self.puts += 1
        if self.puts != self._on_put:
            return self._real.handle_request(request)
        if self._fault == "lost before":
            raise httpx.ConnectError(self._fault)
        if self._fault == "lost after":
            self._real.handle_request(request).close()
            raise httpx.ReadError(self._fault)
        if self._fault == "killed":
            raise KeyboardInterrupt
        return httpx.Response(int(self._fault), json={"message": "no"})

    def close(self):
        """Close the real transport."""
        self._real.close()


def outcomes(frame):
    """Return outcome by transaction."""
    return dict(zip(frame["transaction_id"], frame["outcome"], strict=True))


def audit(books):
    """Return all audit rows of the database."""
    with sqlite3.connect(books.database) as database:
        database.row_factory = sqlite3.Row
        rows = [dict(row) for row in database.execute("select * from audit")]
    database.close()
    return rows


def test_dry_run_sends_nothing(books, plan, tmp_path):
    """Without confirm no PUT is sent, no journal written, no line moved."""
    transport = Faulty("500", on_put=1)
    with books.connected(transport=transport) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal")
    assert set(frame["outcome"]) == {"would_change"}
    assert transport.puts == 0
    assert not (tmp_path / "journal").exists()
    assert audit(books) == []


def test_confirmed_run_moves_exactly_what_was_previewed(books, plan, tmp_path):
    """Every item is done, the report changed as predicted, the audit rows carry who, and verify agrees."""
    before = books.report()
    frame = aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True, modified_by="ana")
    assert set(frame["outcome"]) == {"done"}
    changed = verify_report_change(plan, before, books.report())
    assert len(changed) == 3
    rows = audit(books)
    assert len(rows) == len(plan)
    assert all("ana" in map(str, row.values()) for row in rows)
    assert set(aa.verify_plan(books.client, plan)["outcome"]) == {"done"}


def test_split_keeps_its_other_category(books, plan, tmp_path):
    """Only the uncategorized part of a split moves: the category is always sent."""
    aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True)
    (line,) = books.client.iter_line_entries(books.rent, "2025-03-01", "2025-03-31")
    assert str(line.amount) == "40.00"


def test_same_journal_again_sends_nothing(books, plan, tmp_path):
    """A second run with the same journal finds everything done."""
    aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True)
    transport = Faulty("500", on_put=1)
    with books.connected(transport=transport) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert set(frame["outcome"]) == {"already_done"}
    assert transport.puts == 0


@pytest.mark.parametrize(
    ("fault", "expected"),
    [("lost before", "not_done"), ("lost after", "done"), ("503", "not_done"), ("409", "refused"), ("422", "refused")],
)
def test_outcome_is_what_the_books_say(books, plan, tmp_path, fault, expected):
    """A lost answer is looked up; one bad item leaves the others done; a second run finishes."""
    with books.connected(transport=Faulty(fault, on_put=2)) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert sorted(frame["outcome"]) == sorted(["done", "done", "done", expected])
    assert frame["outcome"].iloc[1] == expected
    again = aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True)
    assert set(again["outcome"]) <= {"done", "already_done"}
    assert len(audit(books)) == len(plan)


def test_killed_run_resumes(books, plan, tmp_path):
    """A run killed between two changes leaves its intent in the journal, and the next run does the rest once."""
    with books.connected(transport=Faulty("killed", on_put=3)) as client, pytest.raises(KeyboardInterrupt):
        aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    events = [json.loads(line)["event"] for line in (tmp_path / "journal").read_text().splitlines()]
    assert events == ["plan", "intent", "answer", "intent", "answer", "intent"]
    with (tmp_path / "journal").open("a") as journal:
        journal.write('{"event": "int')  # the line that the kill cut short
    frame = aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True)
    assert sorted(frame["outcome"]) == ["already_done", "already_done", "done", "done"]
    assert len(audit(books)) == len(plan)


def test_foreign_change_is_left_alone(books, plan, tmp_path):
    """A transaction that somebody else categorized meanwhile is not touched."""
    books.client.recategorize_transaction(
        books.bank, "txn_0", updated_category_ledger_id=books.rent, category_ledger_id=books.outflow
    )
    frame = aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True)
    assert outcomes(frame)["txn_0"] == "changed_elsewhere"
    assert sorted(frame["outcome"]) == ["changed_elsewhere", "done", "done", "done"]
    assert outcomes(aa.verify_plan(books.client, plan))["txn_0"] == "changed_elsewhere"


def test_refused_token_stops_the_run(books, plan, tmp_path):
    """An expired token ends the run at once; what was done stands in the journal."""
    transport = Faulty("401", on_put=2)
    with books.connected(transport=transport) as client, pytest.raises(AuthenticationError):
        aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert transport.puts == 2
    assert '"answer"' in (tmp_path / "journal").read_text()


def test_journal_of_another_plan_is_refused(books, plan, tmp_path):
    """A journal belongs to one plan; another one, or a file that is none, is refused before anything is sent."""
    (tmp_path / "foreign").write_text("Dear diary\n")
    with pytest.raises(PlanError, match="not a journal"):
        aa.apply_plan(books.client, plan, journal=tmp_path / "foreign", confirm=True)
    half = aa.Plan(plan.frame.head(2))
    aa.apply_plan(books.client, half, journal=tmp_path / "journal", confirm=True)
    with pytest.raises(PlanError, match="another plan"):
        aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True)
    assert len(audit(books)) == 2


def test_unwritable_journal_stops_before_the_first_change(books, plan, tmp_path):
    """Without a journal nothing is sent."""
    (tmp_path / "file").touch()
    with pytest.raises(PlanError, match="cannot be written"):
        aa.apply_plan(books.client, plan, journal=tmp_path / "file" / "journal", confirm=True)
    assert audit(books) == []


def test_unpredicted_change_is_found(books, plan, tmp_path):
    """A change that the plan did not predict is named."""
    before = books.report()
    aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True)
    books.client.recategorize_transaction(books.bank, "txn_3", updated_category_ledger_id=books.rent)
    with pytest.raises(BooksDoNotTieError, match="otherwise than planned"):
        verify_report_change(plan, before, books.report())
