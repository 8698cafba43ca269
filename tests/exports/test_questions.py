"""The questions: each answer of DuckDB equals a figure of the package, or one counted from the line entries."""

from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError
from accounting_analytics.exports import questions
from accounting_analytics.exports.questions import QUESTIONS, Question
from accounting_analytics.exports.star_schema.tables import STAR_SCHEMA

NOTHING = Decimal("0.00")


def database_of(exported):
    current, database = (exported / "current").resolve(), duckdb.connect()
    for table in STAR_SCHEMA:
        files = f"{table.name}/*/*.parquet" if table.is_partitioned else f"{table.name}.parquet"
        options = ", hive_types = {'month': varchar}" if table.is_partitioned else ""
        select = f"select * from read_parquet('{current / files}'{options})"  # noqa: S608 (our own path)
        database.execute(f"create view {table.name} as {select}")
    return database


def answer_of(database, name, **parameters):
    return database.sql(Question.named(name).sql, params=parameters).to_arrow_table().to_pylist()


class Answers:
    """Exported books in DuckDB, and the books they were exported from."""

    def __init__(self, books, exported):
        self.books, self.ledgers, (self.report,) = books, books.ledgers.set_index("id"), books.reports
        self.lines = aa.schemas.LineEntries.exact(books.lines).frame
        self.lines["day"] = self.lines["datetime"].dt.tz_convert(self.report.period.time_zone).dt.date
        self.transfers = set(self.ledgers.index[self.ledgers["sub_type"] == "transfers_between_accounts"])
        self.database = database_of(exported)

    def __call__(self, name, **parameters):
        return answer_of(self.database, name, **parameters)

    def flows(self):
        """Return the report's lines without transfers, each with its local month."""
        lines = self.report.exact().lines
        flows = lines[~lines["ledger_id"].isin(self.transfers)]
        days = flows["datetime"].dt.tz_convert(self.report.period.time_zone)
        return flows.assign(month=days.dt.strftime("%Y-%m")).to_dict("records")

    def flows_without_openings(self):
        """Return them without those of entries of opening balances."""
        openings = {one["journal_entry_id"] for one in self.flows() if one["ledger_id"] in self.books.opening.equity}
        assert openings
        return [one for one in self.flows() if one["journal_entry_id"] not in openings]


@pytest.fixture(scope="module")
def answers(quarter, exported):
    """Return the answers about the demo's books."""
    return Answers(quarter, exported)


def in_and_out(amounts):
    """Return number, inflow and outflow of amounts."""
    listed = list(amounts)
    inflow = sum((amount for amount in listed if amount > 0), NOTHING)
    return len(listed), inflow, sum(listed, NOTHING) - inflow


def test_every_query_is_a_question():
    folder = Path(questions.__file__).parent
    assert {path.stem for path in folder.glob("*.sql")} == set(QUESTIONS)
    for name in QUESTIONS:
        question = Question.named(name)
        assert question.text.endswith("?")
        assert question.sql.splitlines()[1].startswith("-- Grain: one ")
        assert question.grain.startswith("one ")
        assert len(duckdb.extract_statements(question.sql)) == 1
    with pytest.raises(InputError, match=f"there is no question 'profit'; the questions are: {QUESTIONS[0]}, "):
        Question.named("profit")


def test_cash_by_month(answers):
    rows, expected = answers("cash_by_month"), defaultdict(Decimal)
    for flow in answers.flows_without_openings():
        expected[flow["month"]] += flow["amount"]
    assert {row["month"]: row["net_cash_flow"] for row in rows} == expected
    assert rows[0]["starting_cash"] == answers.report.exact().starting_cash_balance
    assert rows[-1]["ending_cash"] == answers.report.exact().ending_cash_balance
    for row in rows:
        moved = row["opening_balances"] + row["net_cash_flow"] + row["transfers"]
        assert row["starting_cash"] + moved == row["ending_cash"]
        assert row["transfers"] == 0


def test_opening_balances_are_no_cash_flow(tmp_path):
    file = Path(__file__).parents[2] / "data" / "sample_lines.csv"
    books = aa.open_table(file, time_zone="America/New_York", cash=["assets:bank*", "liabilities:card"])
    aa.export(books, tmp_path, "2025-01")
    database, flows = database_of(tmp_path), aa.cash_flow_statement(books, "2025-01")
    (row,) = answer_of(database, "cash_by_month")
    for name, key in (
        ("starting_cash", "starting_cash_balance"),
        *((one, one) for one in ("opening_balances", "net_cash_flow")),
        ("ending_cash", "ending_cash_balance"),
    ):
        assert row[name] == flows.value(key, "2025-01")
    assert row["opening_balances"] > 0
    rows = answer_of(database, "in_against_out")
    assert sum(one["net_cash_flow"] for one in rows) == row["net_cash_flow"]


def test_in_against_out(answers):
    ids = {ledger["name"]: key for key, ledger in answers.ledgers[answers.ledgers["report_cash_flow"]].iterrows()}
    amounts = defaultdict(list)
    for flow in answers.flows_without_openings():
        amounts[flow["month"], ids[flow["cash_flow_ledger_name"]]].append(flow["amount"])
    rows = answers("in_against_out")
    found = {(row["month"], row["cash_ledger_id"]): (row["inflow"], row["outflow"]) for row in rows}
    assert found == {key: in_and_out(listed)[1:] for key, listed in amounts.items()}
    assert all(row["inflow"] + row["outflow"] == row["net_cash_flow"] for row in rows)
    assert {row["cash_ledger_name"] for row in rows} <= set(ids)


def test_top_expenses_by_parent(answers):
    expected, figures = defaultdict(Decimal), answers.report.exact().ledgers
    for ledger_id, flow in zip(figures["ledger_id"], figures["net_cash_flow"], strict=True):
        ledger = answers.ledgers.loc[ledger_id]
        has_lines = ledger_id in set(answers.report.exact().lines["ledger_id"])
        if ledger["type"] == "expense" and has_lines:
            expected[ledger["parent_id"]] -= flow
    rows = answers("top_expenses_by_parent")
    assert len(rows) >= 5
    assert {row["parent_ledger_id"]: row["cost"] for row in rows} == expected
    assert [row["cost"] for row in rows] == sorted(expected.values(), reverse=True)


def test_balance_by_day(answers):
    starting = answers.report.exact().starting_balances
    days = sorted({row["date"] for row in answers("balance_by_day")})
    assert (days[0], days[-1]) == (answers.report.period.start_date, answers.report.period.end_date)
    expected = {}
    for ledger_id, balance in zip(starting["ledger_id"], starting["cash_balance"], strict=True):
        own = answers.lines[answers.lines["ledger_id"] == ledger_id]
        by_day = defaultdict(Decimal)
        for day, amount in zip(own["day"], own["signed_amount"], strict=True):
            by_day[day] += amount
        running = balance
        for day in days:
            running += by_day[day]
            expected[day, ledger_id] = running
    rows = answers("balance_by_day")
    assert {(row["date"], row["cash_ledger_id"]): row["closing_balance"] for row in rows} == expected
    assert len(rows) == len(expected)


def test_uncategorized_ageing(answers):
    queue = aa.uncategorized_queue(answers.books)
    exact, last = aa.schemas.Queue.exact(queue).frame, answers.report.period.end_date
    days = queue["datetime"].dt.tz_convert(answers.report.period.time_zone).dt.date
    ages = [(last - day).days for day in days]
    rows = answers("uncategorized_ageing")
    assert sum(row["line_entries"] for row in rows) == len(queue) > 10
    for row in rows:
        band = [
            amount
            for age, amount in zip(ages, exact["uncategorized_amount"], strict=True)
            if row["from_days"] <= age <= (row["to_days"] or age)
        ]
        assert (row["line_entries"], row["inflow"], row["outflow"]) == in_and_out(band)


def test_cash_flow_by_tag(answers):
    names, carried = {}, {}
    for line_id, tags, tag_names in zip(
        answers.lines["id"], answers.lines["tag_ids"], answers.lines["tag_names"], strict=True
    ):
        carried[line_id] = tags.split("|") if tags else [None]
        names |= dict(zip(carried[line_id], tag_names.split("|") if tags else [None], strict=True))
    amounts = defaultdict(list)
    for flow in answers.flows():
        for tag in carried[flow["line_id"]]:
            amounts[tag].append(flow["amount"])
    rows = answers("cash_flow_by_tag")
    assert len(rows) >= 2
    found = {row["tag_id"]: (row["cash_flow_lines"], row["inflow"], row["outflow"]) for row in rows}
    assert found == {tag: in_and_out(listed) for tag, listed in amounts.items()}
    assert {row["tag_id"]: row["tag_name"] for row in rows} == {tag: names[tag] for tag in amounts}


def test_cash_flow_by_counterparty(answers):
    """What an entry keeps back, such as the taxes of a net pay, is not in it."""
    frame = aa.analysis_frame(answers.books)
    of_entry = dict(zip(frame["journal_entry_id"], frame["counterparty"], strict=True))
    legs = defaultdict(Decimal)
    for flow in answers.flows():
        legs[flow["journal_entry_id"], flow["cash_flow_ledger_name"]] += flow["amount"]
    amounts = defaultdict(list)
    for (entry, _), amount in legs.items():
        amounts[of_entry[entry]].append(amount)
    rows = answers("cash_flow_by_counterparty")
    assert len(rows) > 10
    assert {"NORTHSIDE GROCERS", "SHELL OIL"} <= amounts.keys()
    found = {row["counterparty"]: (row["payments"], row["inflow"], row["outflow"]) for row in rows}
    assert found == {counterparty: in_and_out(listed) for counterparty, listed in amounts.items()}
    assert all(row["inflow"] + row["outflow"] == row["net_cash_flow"] for row in rows)
    assert len(legs) < len(answers.flows())


def test_month_over_month(answers):
    flows = answers.flows()
    months = [month.start_date.isoformat()[:7] for month in answers.report.period.months()]
    sums = Counter()
    for flow in flows:
        sums[flow["ledger_id"], flow["month"]] += flow["amount"]
    expected = {}
    for ledger_id in {flow["ledger_id"] for flow in flows}:
        for before, month in zip([None, *months], months, strict=False):
            now = Decimal(sums[ledger_id, month])
            earlier = None if before is None else Decimal(sums[ledger_id, before])
            expected[ledger_id, month] = (now, earlier, None if earlier is None else now - earlier)
    rows = answers("month_over_month")
    assert expected == {
        (row["ledger_id"], row["month"]): (row["net_cash_flow"], row["month_before"], row["difference"]) for row in rows
    }


def test_amounts_by_statement_section(answers):
    expected = defaultdict(lambda: [NOTHING, NOTHING])
    for ledger_id, side, amount in zip(
        answers.lines["ledger_id"], answers.lines["debit_credit"], answers.lines["amount"], strict=True
    ):
        expected[answers.ledgers.loc[ledger_id, "sub_type"]][side == "credit"] += amount
    rows = answers("amounts_by_statement_section")
    found = {row["statement_section"]: [row["debit"], row["credit"]] for row in rows}
    assert found == {name.replace("_", " ").capitalize(): both for name, both in expected.items()}
    assert sum(row["debit"] for row in rows) == sum(row["credit"] for row in rows)
    for row in rows:
        grown = row["debit"] - row["credit"]
        assert row["change"] == (grown if row["type"] in {"asset", "expense"} else -grown)


def test_entries_of_category(answers):
    figures, entries = defaultdict(Decimal), defaultdict(set)
    for flow in answers.flows():
        figures[flow["ledger_id"], flow["month"]] += flow["amount"]
        entries[flow["ledger_id"], flow["month"]].add(flow["journal_entry_id"])
    for (ledger_id, month), figure in list(figures.items())[:20]:
        rows = answers("entries_of_category", ledger_id=ledger_id, month=month)
        assert -sum(row["signed_amount"] for row in rows if row["is_in_cash_flow"]) == figure
        assert {row["journal_entry_id"] for row in rows} == entries[ledger_id, month]
        assert sum(row["signed_amount"] for row in rows) == 0
        whole = answers.lines["journal_entry_id"].isin(entries[ledger_id, month])
        assert {row["line_entry_id"] for row in rows} == set(answers.lines.loc[whole, "id"])
