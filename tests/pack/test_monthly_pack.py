"""The pack of a month: every amount follows from its entries, sections, sentences, and what is refused."""

import dataclasses
import datetime as dt
import html
import random
import re
from decimal import Decimal
from itertools import islice
from pathlib import Path

import httpx
import pandas as pd
import pytest
from payee_books import LEDGERS, BookEntry, frame_of, paid
from recorded_figures import PageReader, RecordedSums, read_checked, units_of
from small_reports import altered

import accounting_analytics as aa
from accounting_analytics import pack as pack_room
from accounting_analytics.core.errors import EmptyPeriodError, IncompleteLoadError, InputError, PeriodError
from accounting_analytics.pack.monthly_pack import PageOptions
from accounting_analytics.pack.pack_page import SECTIONS
from accounting_analytics.pack.pack_periods import PackPeriods

FIRST_ACCEPTED = "2025-04-01"
NOTE = "**Rent** rose; [more](https://example.com) <b>soon</b>\n\n- 1,234.56 on hold"

CHART = LEDGERS.assign(editable=True, created_at=pd.NaT)
MARCH = (
    frame_of([*paid("03-10", cents=50_000, ledger="sales"), *paid("03-20", cents=-20_000)]),
    CHART,
    aa.Period.parse("2025-03", time_zone="UTC"),
    dt.date(2025, 3, 10),
)
"""The lines, ledgers, month and first day of small books."""


class RefusesEarlyDays(httpx.HTTPTransport):
    """A service that refuses days before April 2025, so that the first entry of the books is not known."""

    def handle_request(self, request):
        if request.url.params.get("start_date", FIRST_ACCEPTED) < FIRST_ACCEPTED:
            return httpx.Response(422, json={"detail": [{"loc": ["start_date"], "msg": "too early", "type": "value"}]})
        return super().handle_request(request)


@pytest.fixture(scope="session")
def rolled_forward_pack(demo_company):
    """Return the pack of May 2026 with a note, whose cash is that of the service's report, rolled forward."""
    access = {"token": demo_company.token, "instance_id": demo_company.instance_id}
    with aa.LedgerClient(
        demo_company.base_url,
        **access,
        time_zone=demo_company.time_zone,
        fiscal_year_start_month=4,
        transport=RefusesEarlyDays(),
    ) as client:
        reports = ["2026-05", "2026-04", "2025-05", ("2026-04-01", "2026-05-31")]
        return aa.monthly_pack(aa.load_books(client, "2026-05", reports=reports, progress=False), note=NOTE)


@pytest.fixture(scope="session")
def pack_page(demo_pack):
    return PageReader(demo_pack.html)


@pytest.mark.parametrize("name", ["rolled_forward_pack", pytest.param("demo_pack", marks=pytest.mark.long)])
def test_every_amount_on_the_page_follows_from_its_entries(name, request):
    page, _ = read_checked(request.getfixturevalue(name).html)
    assert len(page.figures) > 1000


@pytest.mark.soak
def test_figures_are_those_of_the_page(demo_pack, pack_page, tmp_path, soak_count):
    found = aa.verify_pack(demo_pack.save(tmp_path / "pack.html"), fingerprint=demo_pack.fingerprint)
    assert found.verified, found.explain()
    figures = demo_pack.figures
    shown = {(one.table, one.key): one.text for one in pack_page.figures if one.table != "sentences"}
    for row in figures.itertuples():
        assert shown[row.table, row.key] == row.text, row.key
        digits = 1 if row.text.rstrip(")").endswith(("%", " days")) else 2
        assert units_of(row.text) == (None if row.amount is None else int(row.amount.scaleb(digits)))
    for row in figures.groupby("table").head(soak_count(1000, fewer=15)).itertuples():
        figure = demo_pack[f"{row.table}:{row.key}"]
        assert figure.exact() == row.amount
        if figure.is_additive:
            assert Decimal(str(round(figure.entries["figure_amount"].sum(), 2))) == row.amount or figure.entries.empty


def test_all_sections_are_there(demo_pack, pack_page):
    ids = [attributes["id"] for tag, attributes in pack_page.tags if tag == "section" and attributes["id"] in SECTIONS]
    assert ids == [one for one in SECTIONS if one in ids]
    assert ids[-3:] == ["certificate", "reconciliation", "assumptions"]
    assert len(ids) >= 11
    assert [tag for tag, _ in pack_page.tags].count("svg") == 2 * len(demo_pack.content.pictures) > 0


def test_page_one_has_verdict_sentences_and_key_figures(demo_pack):
    assert demo_pack.proven
    assert demo_pack.verdict.startswith(
        "Cash flow proven. Undecided: 402.43 received and 6,085.03 paid in May 2026 have no category yet, and are not "
        "in the net income of 7,855.83. The 7,286 line entries of 71 ledgers are all there. 71 ledgers are known from "
        "all entries since 1 Jan 2025; the service has no list of ledgers."
    )
    assert '<div class="verdict undecided">' in demo_pack.html
    assert "in May 2025; not in it, because not categorized (in less out): -5,682.60." in demo_pack.sentences[3]
    assert demo_pack.title == "Harbor Lane Coffee Roasters, May 2026"
    assert len(demo_pack.sentences) == 5
    assert demo_pack.sentences[0] == (
        "Cash rose by 11,573.05 to 96,944.93 in May 2026, after a rise of 6,990.79 in Apr 2026."
    )
    assert (
        "41 transactions have no category: 402.43 in and 6,085.03 out; "
        "43,948.92 are in suspense since the books began." in demo_pack.sentences
    )
    assert len(demo_pack.key_figures) == 12
    label, amount, note = demo_pack.key_figures[0]
    assert (label, amount) == ("Cash at the end", "96,944.93")
    assert note == "Apr 2026 85,371.88, May 2025 91,251.79, 2026 to date 96,944.93"
    amounts = {label: amount for label, amount, _ in demo_pack.key_figures}
    assert (amounts["In accounts"], amounts["Less owed on credit cards"]) == ("102,136.93", "(5,192.00)")
    assert (amounts["Cash in"], amounts["Cash out"]) == ("99,922.11", "(88,349.06)")
    assert (amounts["Gross margin"], amounts["Net margin"]) == ("67.9%", "8.5%")


def test_pack_in_a_notebook_shows_its_key_figures(demo_pack):
    page = demo_pack._repr_html_()
    heads = re.findall(r'<th scope="col"[^>]*>([^<]+)</th>', page)
    assert heads == ["May 2026", "Apr 2026", "May 2025", "2026 to date"]
    (cash,) = re.findall(r">Cash at the end<.*?</tr>", page)
    assert re.findall(r">([\d,.]+)</td>", cash) == ["96,944.93", "85,371.88", "91,251.79", "96,944.93"]


def test_figures_that_a_reader_adds_up_meet(demo_pack):
    of = {key: demo_pack[f"{key}|2026-05"].exact() for key in ("key_figures:cash_in", "key_figures:cash_out")}
    assert of["key_figures:cash_in"] == demo_pack["customers:total|2026-05"].exact()
    assert of["key_figures:cash_out"] == demo_pack["payees:total|2026-05"].exact()
    assert sum(of.values()) == demo_pack["key_figures:net_cash_flow|2026-05"].exact()
    assert sum(of.values()) == demo_pack["flows:2026-05|in"].exact() + demo_pack["flows:2026-05|out"].exact()
    cash, owed = demo_pack["key_figures:cash_in_accounts|2026-05"], demo_pack["key_figures:cash_owed|2026-05"]
    assert cash.exact() + owed.exact() == demo_pack["key_figures:cash_at_end|2026-05"].exact()
    balances = {
        one.label.partition(",")[0]: one.exact()
        for one in demo_pack.content.tables["balance"].figures.values()
        if one.key.endswith("|2026-05")
    }
    assert (cash.exact(), -owed.exact()) == (balances["Cash and Banks"], balances["Business Credit Card"])
    ages = demo_pack.content.tables["ageing"]
    totals = {key: figure.exact() for key, figure in ages.figures.items() if ":" not in key and key.endswith("|total")}
    assert sorted(totals.values()) == sorted([balances["Wholesale Receivables"], balances["Supplier Payables"]])
    recurring = demo_pack.content.tables["recurring"]
    (rent,) = (row for row in recurring.table.rows if row.label == "KENT AVE PROPERTIES")
    assert [cell.text for cell in rent.cells] == [
        "Rent",
        "monthly, on day 1",
        "1 May 2026",
        "(7,900.00)",
        "1 Jun 2026",
        "dearer since 1 Jan 2026",
    ]


def test_next_weeks_follow_from_the_cash_of_page_one(pack_of_lines):
    def days(frequency):
        return [f"{day:%Y-%m-%d}" for day in pd.date_range("2025-01-01", "2026-06-30", freq=frequency)]

    chance = random.Random(7)  # noqa: S311 (books, not secrets)
    entries = [*paid(*days("28D"), cents=-220_000, counterparty="WAGES", ledger="wages")]
    entries += paid(*days("MS"), cents=-120_000)
    for day in days("3D"):
        customer = f"CUSTOMER {3 * chance.choice('ABCDE')}"
        entries += paid(day, cents=chance.randrange(20_000, 50_800), counterparty=customer, ledger="sales")
    june = aa.Period.parse("2026-06", time_zone="UTC")
    pack = pack_of_lines(frame_of(entries), CHART, june, dt.date(2025, 1, 1))
    weeks = pack.content.tables["outlook"].figures
    assert weeks["start|cash"].exact() == pack["key_figures:cash_at_end|2026-06"].exact()
    before = weeks["start|cash"]
    for week in range(1, 14):
        net, cash = (weeks[f"week {week}|{name}"] for name in ("net", "cash"))
        assert cash.exact() == before.exact() + net.exact()
        sides = [weeks.get(f"week {week}|{name}") for name in ("high", "low")]
        if week <= 6:
            high, low = (side.exact() for side in sides)
            assert high - cash.exact() == cash.exact() - low > 0
        else:
            assert sides == [None, None]
        before = cash
    assert "Cash expected at the end of each of the next 13 weeks" in pack.html
    assert "In 40 past weeks such outlooks were nearer than today" in html.unescape(pack.html)


def test_what_is_due_unfolds_and_bad_outlooks_draw_no_week(demo_pack):
    tables = demo_pack.content.tables
    rent = next(row for row in tables["due"].table.rows if row.label == "KENT AVE PROPERTIES")
    assert [cell.text for cell in rent.cells] == ["1 Jun 2026", "Rent", "(7,900.00)"]
    assert demo_pack[f"due:{rent.cells[-1].key}"].entries["figure_amount"].tolist() == [-7900.0]
    bill = next(row for row in tables["due"].table.rows if row.label == "ROYAL GREEN IMPORTERS")
    assert bill.cells[1].text == "Supplier Payables"
    owed = demo_pack[f"due:{bill.cells[-1].key}"]
    assert owed.entries["figure_amount"].tolist() == [owed.amount]
    assert set(owed.entries["ledger_id"]) == {"led_payable"}
    assert "outlook" not in tables
    assert '<section id="outlook">' in demo_pack.html
    assert "No forecast was nearer than today" in demo_pack.html
    assert "Cash expected at the end of each" not in demo_pack.html


def test_page_one_has_contents_and_the_note_as_text(rolled_forward_pack, load_month, tmp_path):
    pack = rolled_forward_pack
    assert '<p class="label">Note of the owner</p>' in pack.html
    months = [row.label for row in pack.content.tables["flows"].table.rows]
    assert pack.content.pictures["flows"].text == f"Cash in and out by month, {months[0]} to {months[-1]}"
    assert "<p><strong>Rent</strong> rose; [more](https://example.com) &lt;b&gt;soon&lt;/b&gt;</p>" in pack.html
    assert aa.verify_pack(pack.save(tmp_path / "pack.html")).differences == ()
    listed = re.findall(r'<li><a href="#([a-z_]+)">', pack.html)
    assert listed == re.findall(r'<section id="([a-z_]+)">', pack.html)[1:]
    with pytest.raises(InputError, match="note has 10,001 characters; page one has room for 10,000"):
        aa.monthly_pack(load_month("2026-05"), note="x" * 10_001)


@pytest.mark.soak
def test_a_balance_that_starts_from_a_stated_one_has_terms(rolled_forward_pack, soak_count):
    pack = rolled_forward_pack
    start = pack["cash_accounts:cash|start"]
    assert [term.amount for term in start.terms] == [97_183.11, -11_811.23]
    assert start.amount == 85_371.88
    with pytest.raises(InputError, match="the supplied starting balance and the movement since"):
        start.entries  # noqa: B018 (it raises)
    assert "37,300.81 are in suspense since 1 Apr 2025." in pack.sentences[-1]
    most = soak_count(1000, fewer=15)  # of each table; those of the page are all checked
    additive = 0
    for name, table in pack.content.tables.items():
        for key, cell in islice(table.shown(), most):
            figure = None if cell.mark == "unknown" else pack[f"{name}:{key}"]
            if figure is not None and figure.is_additive:
                additive += 1
                assert round(figure.entries["figure_amount"].sum() * 100) == figure.exact() * 100, figure.label
    assert additive > min(900, 6 * most)


def test_ledgers_and_rows_are_all_on_the_page(demo_pack):
    for name in ("income", "cash_flow", "balance"):
        statement = getattr(demo_pack.content.statements, name)
        table = demo_pack.content.tables[name].table
        with_amounts = [
            row.label
            for row in statement.rows
            if row.kind != "heading"
            if row.kind in {"total", "balance"} or any(statement.value(row.key, one.key) for one in statement.columns)
        ]
        assert [row.label for row in table.rows if row.kind != "heading"] == with_amounts
        left_out = len(statement.rows) - len(table.rows)
        assert table.notes == ([f"{left_out} rows of zeros left out."] if left_out else [])
    assert ">Total transfers<" not in demo_pack.html


@pytest.mark.long
def test_sections_can_be_chosen_replaced_and_added(load_month, tmp_path):
    (tmp_path / "sections").mkdir()
    (tmp_path / "sections" / "payees.html.j2").write_text("<section><h2>Ours</h2>{{ table('payees') }}</section>")
    (tmp_path / "sections" / "letter.html.j2").write_text("<section><h2>{{ pack.title }} {{ '<b>' }}</h2></section>")
    sections = ["summary", "letter", "payees"]
    pack = aa.monthly_pack(load_month("2026-05"), sections=sections, templates=tmp_path)
    page = PageReader(pack.html)
    tables = {"key_figures", "sentences", "cash_bridge", "balance", "income", "payees"}
    assert {one.table for one in page.figures} == set(RecordedSums(page.data).data["tables"]) == tables
    assert "<h2>Ours</h2>" in pack.html
    assert "<h2>Harbor Lane Coffee Roasters, May 2026 &lt;b&gt;</h2>" in pack.html


def test_template_of_the_readme_is_on_the_page(pack_of_lines, tmp_path):
    text = (Path(pack_room.__file__).parent / "README.md").read_text(encoding="utf-8")
    (tmp_path / "sections").mkdir()
    (tmp_path / "sections" / "note.html.j2").write_text(re.search(r"```html\n(.*?)```", text, re.DOTALL).group(1))
    pack = pack_of_lines(*MARCH, sections=["key_ratios", "note"], templates=tmp_path)
    assert "<p>Cash at the end of Mar 2025, by account:</p>" in pack.html
    assert {one.table for one in PageReader(pack.html).figures} >= {"cash_accounts"}
    for name in re.findall(r"`(\w+)`", re.search(r"The sections are (.*?)A folder", text, re.DOTALL).group(1)):
        assert name in SECTIONS


def test_month_in_which_books_begin_knows_nothing_before(pack_of_lines):
    tables = pack_of_lines(*MARCH).content.tables
    figures = tables["key_figures"].figures
    assert [figures[f"{key}|2025-03"].amount for key in ("cash_in", "cash_out", "net_income")] == [500, -200, 300]
    assert figures["cash_at_end|2025-03 to_date"].amount == figures["lowest_cash|2025-03 lowest"].amount == 300
    assert {figures[f"cash_in|2025-03 {column}"].units for column in ("prior", "prior_year")} == {None}
    assert tables["cash_by_day"].table.rows[0].label == "10 Mar 2025"
    income = tables["income"].table
    assert [one.text for one in income.heads] == ["Mar 2025", "2025 to date"]
    assert income.notes[0] == "6 columns of days that are not known left out."
    assert "There are no entries before 10 Mar 2025" in tables["key_figures"].table.notes[1]


def test_untyped_books_say_how_to_name_receivables(pack_of_lines):
    loan = CHART.query("id == 'loan'").assign(sub_type="current_liabilities", financial_account_type=None)
    payables = loan.assign(id="payables", name="Payables", sort_code="8")
    suppliers = loan.assign(id="suppliers", name="Supplier Payables", parent_id="payables", sort_code="9")
    chart = pd.concat([CHART, payables, suppliers])
    bills = [
        BookEntry(dt.date(2025, 3, 12), f"{ledger} INV-7", (("rent", units), (ledger, -units)), is_transaction=False)
        for ledger, units in (("suppliers", 9_000), ("payables", 2_000))
    ]
    journal = frame_of([*paid("03-10", cents=50_000, ledger="sales"), *bills]), chart, *MARCH[2:]
    pack = pack_of_lines(*journal)
    assert "ageing" not in pack.content.tables
    assert "name them with aged_ledgers, or --aged-ledger of the command" in pack.html
    pack = pack_of_lines(*journal, aged_ledgers=["Supplier Payables"])
    assert pack.content.tables["ageing"].table.rows[0].label == "Supplier Payables"
    whole = pack_of_lines(*journal, aged_ledgers=["Payables"])
    figures, alone = whole.content.tables["ageing"].figures, pack.content.tables["ageing"].figures
    assert figures["payables:SUPPLIER PAYABLES|total"].exact() == alone["suppliers|total"].exact() > 0
    sheet = whole.content.tables["balance"].figures
    assert figures["payables|total"].exact() == sheet["payables|2025-03"].exact()
    assert "Parties and invoice numbers are read from the texts" in whole.html
    with pytest.raises(InputError, match="did you mean 'Supplier Payables'"):
        pack_of_lines(*journal, aged_ledgers=["Suplier Payables"])


def test_one_report_that_agrees_is_in_the_singular(deep_books):
    with deep_books.client(time_zone="UTC") as client:
        books = aa.load_books(client, "2025-01", reports=["2025-01"], progress=False)
    reasons = aa.monthly_pack(books).reasons
    assert "The service's cash flow report of Jan 2025 agrees with our calculation to the last digit." in reasons


@pytest.mark.long
def test_disagreeing_report_is_named_and_the_pack_not_proven(load_month):
    books = load_month("2026-05")
    may, april, *others = books.reports
    differing = altered(april, lines=april.lines.assign(amount=-april.lines["amount"]))
    pack = aa.monthly_pack(books.with_reports([may, differing, *others]))
    assert not pack.proven
    assert pack.verdict.startswith("Cash flow not proven. Undecided: 402.43 received and 6,085.03 paid in May 2026")
    assert re.search(r" Apr 2026: \d+ differences", pack.verdict)
    assert '<strong data-field="verdict">cash flow not proven</strong>' in pack.html
    lines = books.lines
    lines.attrs["load"] |= {"complete": False, "missing": {"led_rent": "HTTP 503"}}
    incomplete = aa.Books(lines, books.ledgers, books.period, reports=books.reports)
    with pytest.raises(IncompleteLoadError, match=r"the pack of 2026-05-01 to .* cannot be made: .*led_rent"):
        aa.monthly_pack(incomplete)


@pytest.mark.long
def test_code_is_shown_on_demand(load_month, demo_pack):
    assert "aa.income_statement" not in demo_pack.html
    pack = aa.monthly_pack(load_month("2025-02"), show_code=True, sections=["summary", "income_statement"])
    assert "aa.income_statement(books, " in pack.html


@pytest.mark.parametrize(
    "period",
    ["2025-01", *(pytest.param(one, marks=pytest.mark.long) for one in ("2026-05-10/2026-05-16", "2026-Q1", "2025"))],
)
@pytest.mark.long
def test_first_month_quarter_week_and_year_add_up(load_month, period):
    pack = aa.monthly_pack(load_month(period))
    _, sums = read_checked(pack.html)
    if period == "2025-01":
        figures = sums.data["tables"]["key_figures"]["figures"]
        unknown = {key.rpartition("|")[2] for key, figure in figures.items() if figure[0] == "unknown"}
        assert unknown == {"2025-01 prior", "2025-01 prior_year"}


def test_unusable_periods_sections_and_books_are_refused(load_month, demo_company):
    books = load_month("2026-05")
    with pytest.raises(EmptyPeriodError, match="there are no line entries from 2027-01-01 to 2027-01-31"):
        aa.monthly_pack(aa.load_books(demo_company.client, "2027-01", reports=[], progress=False))
    with pytest.raises(IncompleteLoadError, match=r"the pack of 2026-06-01 to .* the load covers Jan 2025"):
        aa.monthly_pack(books, "2026-06")
    with pytest.raises(PeriodError, match="is not of the zone America/New_York"):
        aa.monthly_pack(books, aa.Period("2026-05-01", "2026-05-31", "UTC"))
    with pytest.raises(InputError, match="a pack takes the lines as they were loaded, and these are 'large'"):
        aa.monthly_pack(books.with_lines(books.lines.query("amount > 100"), label="large"))
    with pytest.raises(InputError, match="sections: 'payee' is unknown; did you mean 'payees'"):
        aa.monthly_pack(books, sections=["payee"])
    with pytest.raises(InputError, match="sections: 'x' is unknown; there are ageing, assumptions, "):
        aa.monthly_pack(books, sections=["x"])
    assert PageOptions(["cash-bridge", "payees"]).check()[1] == ("cash_bridge", "payees")
    with pytest.raises(
        InputError, match="books is of type LedgerClient, not Books; load_books\\(client\\) returns them"
    ):
        aa.monthly_pack(demo_company.client, "2026-05")
    with pytest.raises(InputError, match="no-such-folder is not a folder"):
        aa.monthly_pack(books, templates="no-such-folder")


def test_periods_follow_the_fiscal_year():
    periods = PackPeriods.around(aa.Period.parse("2026-05"), 7)
    assert periods.to_date.start_date == dt.date(2025, 7, 1)
    assert periods.label_of(periods.to_date) == "2025/26 to date"
    assert [f"{one.start_date:%m}" for one in periods.months] == ["12", "01", "02", "03", "04", "05"]
    assert periods.first_day == dt.date(2024, 7, 1)
    january = PackPeriods.around(aa.Period.parse("2026-01"), 1)
    assert january.to_date == january.this
    assert [one.key for one in january.key_columns()] == ["2026-01", "2026-01 prior", "2026-01 prior_year"]


@pytest.mark.long
def test_the_same_books_give_the_same_page(load_month, demo_pack):
    packs = (aa.monthly_pack(load_month("2026-05")), demo_pack)
    pages = [re.sub(r"<script.*?</script>", "", one.html, flags=re.DOTALL).replace(one.created_at, "") for one in packs]
    assert pages[0] == pages[1]
    data = [RecordedSums(PageReader(one.html).data).data | {"created_at": ""} for one in packs]
    assert data[0] == data[1]


@pytest.mark.parametrize("section", SECTIONS)
def test_a_page_of_one_section_can_be_checked(demo_pack, section, tmp_path):
    pack = dataclasses.replace(demo_pack, section_names=(section,))
    if section in {"certificate", "assumptions", "changes", "budget", "coding"}:
        with pytest.raises(InputError, match=f"sections: {section} shows no figure, so its receiver could check"):
            pack.save(tmp_path / "pack.html")
        return
    page = pack.save(tmp_path / "pack.html")
    found = aa.verify_pack(page)
    assert found.faults.empty, found.explain()
    text = page.read_text(encoding="utf-8")
    assert "Harbor Lane Coffee Roasters</h1>" in text
    assert text.count('data-field="verdict"') == 1
