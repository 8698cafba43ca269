"""A small writer of packs by the format, whose figures are summed naively, line by line."""

import datetime as dt
import hashlib
import random
from decimal import ROUND_HALF_EVEN, Decimal
from html import escape
from typing import NamedTuple

from accounting_analytics.pack_verification import check_script, check_section, check_style, pack_data

START, END = "2026-05-01", "2026-05-31"
MONTHS = {"2026-04": ("2026-04-01", "2026-04-30"), "2026-05": (START, END)}
PRINTABLE = str.maketrans(dict.fromkeys((*range(32), *range(127, 160)), "�"))
PLAIN_NAMES = {
    "ledgers": ("Operating Account", "Sales", "Rent", "Wages & Salaries", "Retained Earnings"),
    "payees": ("ACME Corp", "City Water", "Landlord & Sons", "Payroll"),
    "company": "Harbor Lane Coffee Roasters",
}
UNUSUAL_NAMES = {
    "ledgers": (
        "Bank <b>1</b>",
        "Ventes \N{EM DASH} caf\xe9",
        "</script><script>alert(1)</script>",
        "\u6771\u4eac",
        "\U0001f600 &amp;",
    ),
    "payees": ("<img src=x onerror=alert(1)>", "line\r\nbreak", "\"quoted\" 'text' 12.50", "\u202eright to left"),
    "company": "</title><script>alert(1)</script> \U0001f40d & S\xf6hne",
}


class Books(NamedTuple):
    """Lines as the entries of a pack have them, and the names that they refer to."""

    names: dict
    ledgers: list
    texts: list
    dates: list
    lines: list
    scale: int


class Shown(NamedTuple):
    """A figure as a page shows it."""

    table: str
    key: str
    text: str
    attributes: str = ""

    def element(self, name="td"):
        """Return the element that shows the figure."""
        return f'<{name} data-table="{self.table}" data-key="{escape(self.key)}"{self.attributes}>{self.text}</{name}>'


def make_books(seed=0, *, names=PLAIN_NAMES, transactions=60, scale=2, largest=10**6):
    """Return books of two months with opening balances: sales, rent and wages through one bank account."""
    chance = random.Random(seed)  # noqa: S311 (the same books in each run)
    days = [dt.date(2026, 4, 1) + dt.timedelta(days=number) for number in range(61)]
    dates = ["", *map(str, days)]
    texts = [*names["payees"], "Balance before 2026-04-01", *names["ledgers"]]
    opening = chance.randint(0, largest)
    lines = [[0, 0, 0, 4, 9, opening, 0], [4, 0, 0, 4, 5, -opening, 0]]
    for entry in range(1, transactions + 1):
        category = chance.choice((1, 2, 3))
        units = chance.randint(0, largest) * (1 if category == 1 else -1)
        date, payee = chance.randint(1, 61), chance.randint(0, 3)
        lines.append([0, date, 0, payee, 5 + category, units, entry])
        lines.append([category, date, 1, payee, 5, -units, entry])
    return Books(names, list(names["ledgers"]), texts, dates, lines, scale)


def total(books, ledgers, first, last):
    """Sum the units of lines."""
    return sum(
        units
        for ledger, date, _, _, _, units, _ in books.lines
        if ledger in ledgers and first <= books.dates[date] <= last
    )


def lines_of_payee(books, payee, first, last):
    """Numbers of the lines of categories with a payee."""
    return [
        number
        for number, (ledger, date, is_flow, text, *_) in enumerate(books.lines)
        if is_flow and ledger in {1, 2, 3} and text == payee and first <= books.dates[date] <= last
    ]


def amount_text(units, scale):
    """Return an amount as statements show it."""
    text = f"{abs(Decimal(units).scaleb(-scale)):,.{scale}f}"
    return "\N{EN DASH}" if not units else f"({text})" if units < 0 else text


def percent_text(part, whole):
    """Return a quotient as statements show it."""
    if not whole:
        return "not known"
    value = (Decimal(100 * part) / Decimal(whole)).quantize(Decimal("0.1"), ROUND_HALF_EVEN)
    return "\N{EN DASH}" if not value else f"({-value:,}%)" if value < 0 else f"{value:,}%"


def escaped(text):
    """Return a text for the page, without control characters."""
    return escape(text.translate(PRINTABLE))


def record_of(books):
    """Return the record of a pack of some books."""
    months = {key: [[1, *days]] for key, days in MONTHS.items()}
    change = {"change": [[1, *MONTHS["2026-05"]], [-1, *MONTHS["2026-04"]]]}
    columns = [*MONTHS, "change"]
    rows = {"sales": [-1, "movement", [1]], "rent": [-1, "movement", [2]], "wages": [-1, "movement", [3]]}
    keys = [f"{row}|{column}" for row in ("net",) for column in columns]
    balance_days = {key: [[1, "", days[1]]] for key, days in MONTHS.items()}
    largest = max(range(len(books.lines)), key=lambda number: abs(books.lines[number][5]))
    return {
        "format": 1,
        "company": books.names["company"],
        "currency": "USD",
        "scale": books.scale,
        "start_date": START,
        "end_date": END,
        "time_zone": "America/New_York",
        "created_at": "2026-06-01T06:00:00Z",
        "verdict": "cash flow proven",
        "tables": {
            "income": {
                "rows": rows,
                "days": {"movement": months | change},
                "terms": {key: [["+", key.replace("net", row)] for row in rows] for key in keys}
                | {f"{row}|pct": change_terms(row) for row in [*rows, "net"]},
                "shown": {"rows": [*rows, "net"], "columns": [*columns, "pct"], "empty": ["wages|pct"]},
            },
            "balances": {
                "rows": {"bank": [1, "balance", [0]], "equity": [-1, "balance", [4]]},
                "days": {"balance": balance_days},
                "shown": {"rows": ["bank", "equity"], "columns": [*MONTHS]},
            },
            "sentences": {
                "rows": {**rows, "bank": [1, "balance", [0]], "net": [-1, "flow", [1, 2, 3]]},
                "days": {"movement": months, "flow": months, "balance": balance_days},
                "terms": {
                    "cash|change": [["+", "bank|2026-05"], ["-", "bank|2026-04"]],
                    "average|sales": [["+", f"sales|{key}"] for key in MONTHS] + [["/count", 2]],
                    "share|rent": [["+", "rent|2026-05"], ["/", "net|2026-05"]],
                },
                "lines": {"largest|line": [[1, [largest]]]}
                | {
                    f"payee{payee}|{month}": [[-1, lines_of_payee(books, payee, *days)]]
                    for payee in range(4)
                    for month, days in MONTHS.items()
                },
                "stated": {"reported|sales": -total(books, {1}, *MONTHS["2026-05"])},
                "unknown": ["tax|2026-05"],
            },
        },
    }


def change_terms(row):
    """Return the terms of a change in percent."""
    return [["+", f"{row}|2026-05"], ["-", f"{row}|2026-04"], ["/abs", f"{row}|2026-04"]]


def shown_figures(books):
    """Return every figure of the page, summed naively."""
    found, scale = [], books.scale
    sums = {
        row: {m: -total(books, {n}, *days) for m, days in MONTHS.items()}
        for row, n in (("sales", 1), ("rent", 2), ("wages", 3))
    }
    sums["net"] = {month: sum(sums[row][month] for row in ("sales", "rent", "wages")) for month in MONTHS}
    for row, of_row in sums.items():
        this, base = of_row["2026-05"], of_row["2026-04"]
        found += [Shown("income", f"{row}|{month}", amount_text(units, scale)) for month, units in of_row.items()]
        found.append(Shown("income", f"{row}|change", amount_text(this - base, scale)))
        if row != "wages":
            found.append(Shown("income", f"{row}|pct", percent_text(this - base, abs(base))))
    balances = {}
    for month, (_, last) in MONTHS.items():
        balances[month] = total(books, {0}, "", last)
        found.append(Shown("balances", f"bank|{month}", amount_text(balances[month], scale)))
        found.append(Shown("balances", f"equity|{month}", amount_text(-total(books, {4}, "", last), scale)))
    for number in range(4):
        for month, days in MONTHS.items():
            units = -sum(books.lines[line][5] for line in lines_of_payee(books, number, *days))
            found.append(Shown("sentences", f"payee{number}|{month}", amount_text(units, scale)))
    moved = balances["2026-05"] - balances["2026-04"]
    magnitude = f"{abs(Decimal(moved).scaleb(-scale)):,.{scale}f}"
    found.append(Shown("sentences", "cash|change", magnitude, ' data-form="magnitude"'))
    average = int((Decimal(sum(sums["sales"].values())) / 2).quantize(Decimal(1), ROUND_HALF_EVEN))
    largest = max((line[5] for line in books.lines), key=abs)
    return [
        *found,
        Shown("sentences", "net|2026-05", amount_text(sums["net"]["2026-05"], scale)),
        Shown("sentences", "average|sales", amount_text(average, scale)),
        Shown("sentences", "share|rent", percent_text(sums["rent"]["2026-05"], sums["net"]["2026-05"])),
        Shown("sentences", "largest|line", amount_text(largest, scale).replace("(", "\u2212").replace(")", "")),
        Shown("sentences", "reported|sales", amount_text(sums["sales"]["2026-05"], scale)),
        Shown("sentences", "tax|2026-05", "not known"),
    ]


def page_html(books, *, record=None, entries=None, figures=None):
    """Return the page."""
    entries = entries or {name: getattr(books, name) for name in ("ledgers", "texts", "dates", "lines")}
    figures = figures or shown_figures(books)
    income = [one for one in figures if one.table == "income"]
    rows = "".join(
        f'<tr><th scope="row">{escaped(name)}</th>'
        + "".join(one.element() for one in income if one.key.startswith(f"{row}|"))
        + "</tr>\n"
        for row, name in zip(("sales", "rent", "wages", "net"), [*books.ledgers[1:4], "Net income"], strict=True)
    )
    others = "".join(f"<p>It was {one.element('strong')} then.</p>\n" for one in figures if one.table != "income")
    typed = "".join(f"<li data-text>{escaped(text)}</li>" for text in books.texts)
    company = escaped(books.names["company"])
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{company}, May 2026</title>
<style>{check_style()}
td {{ text-align: right }} tr:hover > th {{ color: inherit }}</style>
<script type="module">{check_script()}</script>
</head>
<body><main><h1>{company}, May 2026</h1>
<p><b data-field="company">{company}</b>, amounts in <span data-field="currency">USD</span>,
<time data-field="start_date" datetime="{START}">1 May 2026</time> to <span data-field="end_date">{END}</span>,
reconciliation: <strong data-field="verdict">cash flow proven</strong></p><!-- dropped -->
<table><caption>Income</caption><thead><tr><td></td><th>April</th><th>May</th><th>Change</th><th>%</th></tr></thead>
<tbody>
{rows}</tbody></table>
{others}<ul>{typed}</ul>
<svg viewBox="0 0 10 10" role="img" aria-label="Cash by day"><defs><style>*{{stroke-linejoin: round}}</style>
<clipPath id="c"><rect width="10" height="10"/></clipPath></defs>
<g clip-path="url(#c)"><path d="M 0 0 L 5 7 L 10 3"/><use xlink:href="#c"/></g><text>&#160;Cash</text></svg>
{check_section()}
{pack_data(record or record_of(books), entries)}</main>
<script type="module">document.querySelector("h1").append(document.createElement("button"))</script>
</body>
</html>
"""


def write_pack(path, books, **parts):
    """Write a pack of some books; return its fingerprint."""
    content = page_html(books, **parts).encode()
    path.write_bytes(content)
    return hashlib.sha256(content).hexdigest()
