"""A service that distorts its answers is found out: the right check fails, and names the first counterexample."""

from decimal import Decimal

import pytest

from accounting_analytics.periods import Period

CENT = Decimal("0.01")


def is_report(path):
    """Whether a path is that of the report."""
    return path.endswith("/cash-flow")


def flow_of(report, ledger_id):
    """Return a ledger's part of a report; None where it has none."""
    return next((one for one in report["cash_flow_ledgers"] if one["ledger_id"] == ledger_id), None)


def failed(diagnosis):
    """Return the names of the checks that failed."""
    return [finding.check for finding in diagnosis.failed]


def test_sound_books_pass_every_check(examine):
    """Through an honest forwarder every check of the books is made and holds."""
    diagnosis = examine()
    books = [finding for finding in diagnosis.findings if finding.part == "The books"]
    assert {finding.verdict for finding in books} == {"ok"}, diagnosis
    assert len(books) == 11
    assert diagnosis.exit_code == 0


def test_the_demo_company_passes_every_check(demo_company):
    """The demo company's last quarter, in its own zone: nothing fails, every check of the books is made."""
    import accounting_analytics as aa  # noqa: PLC0415 (the package loads late)

    diagnosis = aa.doctor(demo_company.client, "2026-04-01", "2026-06-30", time_zone=demo_company.time_zone)
    assert diagnosis.failed == (), diagnosis
    assert {finding.verdict for finding in diagnosis.findings if finding.part == "The books"} == {"ok"}


def test_a_wrong_ending_balance(examine, distortion, books, found):
    """A cent more at the end of each report breaks sum and chain; both amounts are named."""

    def answer(path, _params, body):
        if is_report(path):
            for one in body["ending_balances"]:
                one["cash_balance"] += CENT * (one["ledger_id"] == books.bank)

    diagnosis = examine(distortion(answer=answer))
    assert failed(diagnosis) == ["identity", "balances chain"]
    said = found(diagnosis, "balances chain").said
    assert f"Bank (ledger {books.bank}) ends 2025-01-01 to 2025-01-31 (UTC) with -618.79" in said
    assert "starts 2025-02-01 to 2025-02-10 (UTC) with -618.80" in said
    assert "ending_cash_balance is" in found(diagnosis, "identity").said
    assert diagnosis.exit_code == 3


def test_flows_that_are_not_the_change_of_cash(examine, distortion, books, found):
    """A flow that is a cent too large in every report breaks the identity first."""

    def answer(path, _params, body):
        if is_report(path) and (rent := flow_of(body, books.rent)):
            rent["net_cash_flow"] -= CENT

    finding = found(examine(distortion(answer=answer)), "identity")
    assert finding.verdict == "failed"
    assert "cash changed by" in finding.said


@pytest.mark.parametrize(
    "moved", [("2025-02-01/2025-02-10", "days add up"), ("2025-01-01/2025-02-10", "months add up")]
)
def test_a_flow_moved_to_another_ledger_in_one_report(examine, distortion, books, found, moved):
    """A flow that one report gives to another category keeps the identity, and breaks the sum of its parts."""
    days, check = moved

    def answer(path, params, body):
        if is_report(path) and f"{params['start_date']}/{params['end_date']}" == days and "tag_ids" not in params:
            flow_of(body, books.rent)["net_cash_flow"] -= CENT
            flow_of(body, books.meals)["net_cash_flow"] += CENT

    diagnosis = examine(distortion(answer=answer))
    assert found(diagnosis, "identity").verdict == "ok"
    finding = found(diagnosis, check)
    assert finding.verdict == "failed"
    assert f"(ledger {books.rent})" in finding.said or f"(ledger {books.meals})" in finding.said
    assert "sum to" in finding.said
    assert diagnosis.exit_code == 3


def test_a_flow_on_the_wrong_ledger_everywhere(examine, distortion, books, found):
    """Reports that all give rent to meals add up in every way; the line entries tell."""

    def answer(path, _params, body):
        if is_report(path) and (rent := flow_of(body, books.rent)):
            meals = flow_of(body, books.meals)
            if meals is None:
                rent["ledger_id"] = books.meals
                return
            meals["lines"] += rent["lines"]
            meals["net_cash_flow"] += rent["net_cash_flow"]
            body["cash_flow_ledgers"].remove(rent)

    diagnosis = examine(distortion(answer=answer))
    assert failed(diagnosis)[0] == "lines = report"
    said = found(diagnosis, "lines = report").said
    assert f"Meals (ledger {books.meals}), entry" in said
    assert "the report says -100.00, but its line entries with is_cashflow=true say -40.00" in said


def test_a_missing_line(examine, distortion, books, found):
    """A line that no page has is missed by the report's side and by its entry."""

    def answer(path, _params, body):
        if books.rent in path:
            body["records"] = [line for line in body["records"] if line["amount"] != Decimal("1250.00")]

    diagnosis = examine(distortion(answer=answer))
    assert failed(diagnosis) == ["lines = report", "whole entries"]
    said = found(diagnosis, "lines = report").said
    assert f"Rent (ledger {books.rent})" in said
    assert "the report says -1,250.00, but its line entries with is_cashflow=true say 0" in said


def test_is_cashflow_ignored(examine, distortion, found):
    """A service that ignores is_cashflow serves lines in true and false alike."""

    def ask(_path, params):
        return {name: value for name, value in params.items() if name != "is_cashflow"}

    finding = found(examine(distortion(ask=ask)), "cash filter")
    assert finding.verdict == "failed"
    assert "is_cashflow does not filter" in finding.said


def test_lines_that_neither_filter_has(examine, distortion, books, found):
    """A line that comes only without is_cashflow is named with the ways it does not come."""

    def answer(path, params, body):
        if books.sales in path and params.get("is_cashflow") == "false":
            body["records"] = []

    finding = found(examine(distortion(answer=answer)), "cash filter")
    assert finding.verdict == "failed"
    assert "is among all only" in finding.said


def test_limit_ignored(examine, distortion, found):
    """A page larger than was asked for is named with both numbers."""

    def ask(_path, params):
        return params | {"limit": "1000"} if "limit" in params else params

    diagnosis = examine(distortion(ask=ask))
    assert failed(diagnosis) == ["page size"]
    assert "limit=2 was asked for, and page 1 holds" in found(diagnosis, "page size").said


def test_a_line_lost_between_small_pages(examine, distortion, found):
    """A line that small pages lose and large ones have is named."""

    def answer(_path, params, body):
        if params.get("limit") == "2" and "page_token" in params:
            del body["records"][0]

    finding = found(examine(distortion(answer=answer)), "page size")
    assert finding.verdict == "failed"
    assert "comes 0 time(s) in pages of 2, and once in one of 1,000" in finding.said


def test_wrong_opposing_ledgers(examine, distortion, books, found):
    """A line that names a ledger outside its entry as opposing is named, with what the entry says."""

    def answer(path, _params, body):
        for line in body.get("records", ()):
            if "opposing_ledger_ids" in line and books.rent in path:
                line["opposing_ledger_ids"] = [books.sales]

    finding = found(examine(distortion(answer=answer)), "opposing ledgers")
    assert finding.verdict == "failed"
    assert books.sales in finding.said
    assert books.bank in finding.said


def test_expand_ignored(examine, distortion, found):
    """A service that ignores expand fails that check; what rests on expansions is not checked, and nothing crashes."""

    def ask(_path, params):
        return {name: value for name, value in params.items() if name != "expand"}

    diagnosis = examine(distortion(ask=ask))
    assert failed(diagnosis) == ["expand"]
    assert "ledger was asked for" in found(diagnosis, "expand").said
    assert found(diagnosis, "opposing ledgers").verdict == "not checked"


def test_parents_not_shown(examine, distortion, found):
    """A deployment that refuses ledger.parent is fine; the finding says how to give the hierarchy."""

    def status(_path, params):
        return 422 if "ledger.parent" in params.get("expand", "") else None

    finding = found(examine(distortion(status=status)), "expand")
    assert finding.verdict == "ok"
    assert "parents=" in finding.said


def test_tag_filter_ignored(examine, distortion, found):
    """A report by tag that is the whole report is not the lines that carry the tag."""

    def ask(_path, params):
        return {name: value for name, value in params.items() if name != "tag_ids"}

    diagnosis = examine(distortion(ask=ask))
    assert failed(diagnosis) == ["tagged report"]
    assert "in the report of tag" in found(diagnosis, "tagged report").said


def test_more_in_the_tagged_report(examine, distortion, found):
    """A line that the report by tag has larger than the whole one is named with both amounts."""

    def answer(path, params, body):
        if is_report(path) and "tag_ids" in params:
            for ledger in body["cash_flow_ledgers"]:
                for line in ledger["lines"]:
                    line["amount"] -= 1

    finding = found(examine(distortion(answer=answer)), "tagged report")
    assert finding.verdict == "failed"
    assert "-1,251.00 in the report of tag" in finding.said
    assert "-1,250.00 in the whole report" in finding.said


def test_reports_without_lines(examine, distortion):
    """A deployment whose reports carry no lines is compared by ledger."""

    def answer(_path, _params, body):
        for ledger in body.get("cash_flow_ledgers", ()):
            ledger["lines"] = []

    assert examine(distortion(answer=answer)).failed == ()


def test_line_ids_of_the_cash_side(examine, distortion, found):
    """A deployment whose reports give other line ids is no worse for it."""

    def answer(_path, _params, body):
        for ledger in body.get("cash_flow_ledgers", ()):
            for line in ledger["lines"]:
                line["line_id"] = f"cash-{line['line_id']}"

    assert found(examine(distortion(answer=answer)), "lines = report").verdict == "ok"


@pytest.mark.parametrize(("start", "end"), [("2025-02-01", "2025-02-10"), ("2025-02-05", "2025-02-05")])
def test_short_periods(examine, found, start, end):
    """A month is cut in two; one day has no parts, and says so instead of claiming to add up."""
    diagnosis = examine(period=Period.of(start, end))
    assert diagnosis.failed == ()
    assert found(diagnosis, "months add up").verdict == ("ok" if start != end else "not checked")


def test_a_period_without_entries(examine, found):
    """Where nothing moved, checks of flows say that they checked nothing."""
    diagnosis = examine(period=Period.of("2024-01-01", "2024-02-29"))
    assert diagnosis.failed == ()
    for check in ("months add up", "days add up", "lines = report", "cash filter", "page size"):
        assert found(diagnosis, check).verdict == "not checked"
        assert found(diagnosis, check).said.startswith("because")


def test_a_service_that_gives_out(examine, distortion, found):
    """When daily reports end in 503, one check says so and the rest is not checked: exit code 4."""

    def status(path, params):
        return 503 if is_report(path) and params["start_date"] == params["end_date"] == "2025-02-09" else None

    diagnosis = examine(distortion(status=status))
    assert failed(diagnosis) == ["identity"]
    assert "503" in found(diagnosis, "identity").said
    assert found(diagnosis, "expand").said == "because the service failed in an earlier check"
    assert diagnosis.exit_code == 4


def test_only_reads_are_sent(examine, distortion):
    """An examination asks for reports and lines, and for some hundred answers at most."""
    watched = distortion()
    examine(watched)
    paths = {path.rsplit("/", 1)[1] for path, _ in watched.requests}
    assert paths == {"cash-flow", "line-entries"}
    assert len(watched.requests) < 100
