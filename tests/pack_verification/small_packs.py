"""A small writer of packs by the format, whose figures are summed naively, line by line."""

import datetime as dt
import hashlib
import random
from decimal import Decimal
from html import escape
from typing import NamedTuple

from accounting_analytics.pack.page_format import pack_data

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
        return f'<{name} data-table="{self.table}" data-key="{escape(self.key)}"{self.attributes}>{self.text}</{name}>'


def make_books(seed=0, *, names=PLAIN_NAMES, transactions=60, scale=2, largest=10**6):
    """Return books of two months with opening balances: sales, rent and wages through one bank account."""
    chance = random.Random(seed)  # noqa: S311 (the same books in each run)
    days = [dt.date(2026, 4, 1) + dt.timedelta(days=number) for number in range(61)]
    dates = ["", *map(str, days)]
    texts = [*names["payees"], "Balance before 2026-04-01", *names["ledgers"]]
    opening = chance.randint(0, largest)
    lines = [[0, 0, 4, 9, opening, 0, 0], [4, 0, 4, 5, -opening, 0, 0]]
    for entry in range(1, transactions + 1):
        category = chance.choice((1, 2, 3))
        units = chance.randint(0, largest) * (1 if category == 1 else -1)
        date, counterparty = chance.randint(1, 61), chance.randint(0, 3)
        lines.append([0, date, counterparty, 5 + category, units, 0, entry])
        lines.append([category, date, counterparty, 5, -units, 1, entry])
    return Books(names, list(names["ledgers"]), texts, dates, lines, scale)


def total(books, ledgers, first, last):
    """Sum the units of lines."""
    return sum(
        units
        for ledger, date, _, _, units, *_ in books.lines
        if ledger in ledgers and first <= books.dates[date] <= last
    )


def lines_of_payee(books, counterparty, first, last):
    return [
        number
        for number, (ledger, date, text, _, _, is_flow, _) in enumerate(books.lines)
        if is_flow and ledger in {1, 2, 3} and text == counterparty and first <= books.dates[date] <= last
    ]


def amount_text(units, scale):
    text = f"{abs(Decimal(units).scaleb(-scale)):,.{scale}f}"
    return "\N{EN DASH}" if not units else f"({text})" if units < 0 else text


def escaped(text):
    """Return a text for the page, without control characters."""
    return escape(text.translate(PRINTABLE))


ROWS = {"sales": [1], "rent": [2], "wages": [3]}


def figures_of(books):
    """Return what the page states about each figure, by table and key."""
    names = {**dict(zip(ROWS, books.ledgers[1:4], strict=True)), "net": "Net income"}
    months = {"2026-04": "April", "2026-05": "May", "change": "Change"}
    days = {key: [[1, *one]] for key, one in MONTHS.items()}
    days["change"] = [*days["2026-05"], [-1, *MONTHS["2026-04"]]]
    income = {
        f"{row}|{column}": [
            "sum", f"{names[row]}, {label}", [[-factor, 0, *one, ROWS[row]] for factor, *one in days[column]]
        ]
        for row in ROWS
        for column, label in months.items()
    }  # fmt: skip
    for column, label in months.items():
        income[f"net|{column}"] = ["terms", f"Net income, {label}", [["+", f"{row}|{column}"] for row in ROWS]]
    balances = {
        f"{row}|{month}": ["sum", f"{row}, {month}", [[factor, 0, "", last, [ledger]]]]
        for row, factor, ledger in (("bank", 1, 0), ("equity", -1, 4))
        for month, (_, last) in MONTHS.items()
    }
    largest = max(range(len(books.lines)), key=lambda number: abs(books.lines[number][4]))
    sentences = {
        **{key: figure for key, figure in balances.items() if key.startswith("bank|")},
        "net|2026-05": ["sum", "Net, May", [[-1, 1, START, END, [1, 2, 3]]]],
        "cash|change": ["terms", "Cash", [["+", "bank|2026-05"], ["-", "bank|2026-04"]]],
        "largest|line": ["lines", "Largest", [[1, largest, largest]]],
        "reported|sales": ["stated", "Sales", -total(books, {1}, *MONTHS["2026-05"])],
        "tax|2026-05": ["unknown", "Tax"],
    }
    for counterparty in range(4):
        for month, one in MONTHS.items():
            numbers = lines_of_payee(books, counterparty, *one)
            sentences[f"counterparty{counterparty}|{month}"] = [
                "lines",
                f"Counterparty {counterparty}",
                [[-1, one, one] for one in numbers],
            ]
    return {
        "income": {"figures": income, "hidden": []},
        "balances": {"figures": balances, "hidden": []},
        "sentences": {"figures": sentences, "hidden": ["bank|2026-04", "bank|2026-05"]},
    }


def data_of(books):
    return {
        "format": 1,
        "company": books.names["company"],
        "currency": "USD",
        "amounts_in": "",
        "scale": books.scale,
        "start_date": START,
        "end_date": END,
        "time_zone": "America/New_York",
        "created_at": "2026-06-01T06:00:00Z",
        "verdict": "cash flow proven",
        **{name: getattr(books, name) for name in ("ledgers", "texts", "dates", "lines")},
        "tables": figures_of(books),
    }


def shown_figures(books):
    """Return every figure of the page, summed naively."""
    found, scale = [], books.scale
    sums = {row: {m: -total(books, of_row, *days) for m, days in MONTHS.items()} for row, of_row in ROWS.items()}
    sums["net"] = {month: sum(sums[row][month] for row in ROWS) for month in MONTHS}
    for row, of_row in sums.items():
        this, base = of_row["2026-05"], of_row["2026-04"]
        found += [Shown("income", f"{row}|{month}", amount_text(units, scale)) for month, units in of_row.items()]
        found.append(Shown("income", f"{row}|change", amount_text(this - base, scale)))
    balances = {}
    for month, (_, last) in MONTHS.items():
        balances[month] = total(books, {0}, "", last)
        found.append(Shown("balances", f"bank|{month}", amount_text(balances[month], scale)))
        found.append(Shown("balances", f"equity|{month}", amount_text(-total(books, {4}, "", last), scale)))
    for number in range(4):
        for month, days in MONTHS.items():
            units = -sum(books.lines[line][4] for line in lines_of_payee(books, number, *days))
            found.append(Shown("sentences", f"counterparty{number}|{month}", amount_text(units, scale)))
    moved = balances["2026-05"] - balances["2026-04"]
    magnitude = f"{abs(Decimal(moved).scaleb(-scale)):,.{scale}f}"
    found.append(Shown("sentences", "cash|change", magnitude, ' data-form="magnitude"'))
    largest = max((line[4] for line in books.lines), key=abs)
    return [
        *found,
        Shown("sentences", "net|2026-05", amount_text(sums["net"]["2026-05"], scale)),
        Shown("sentences", "largest|line", amount_text(largest, scale).replace("(", "\u2212").replace(")", "")),
        Shown("sentences", "reported|sales", amount_text(sums["sales"]["2026-05"], scale)),
        Shown("sentences", "tax|2026-05", "not known"),
    ]


def page_html(books, *, data=None, figures=None):
    figures = figures or shown_figures(books)
    income = [one for one in figures if one.table == "income"]
    rows = "".join(
        f'<tr><th scope="row">{escaped(name)}</th>'
        + "".join(one.element() for one in income if one.key.startswith(f"{row}|"))
        + "</tr>\n"
        for row, name in zip((*ROWS, "net"), (*books.ledgers[1:4], "Net income"), strict=True)
    )
    others = "".join(f"<p>It was {one.element('strong')} then.</p>\n" for one in figures if one.table != "income")
    typed = "".join(f"<li data-text>{escaped(text)}</li>" for text in books.texts)
    company = escaped(books.names["company"])
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{company}, May 2026</title>
<style>td {{ text-align: right }} tr:hover > th {{ color: inherit }}</style>
</head>
<body><main><h1>{company}, May 2026</h1>
<p><b data-field="company">{company}</b>, amounts in <span data-field="currency">USD</span>,
<time data-field="start_date" datetime="{START}">1 May 2026</time> to <span data-field="end_date">{END}</span>,
reconciliation: <strong data-field="verdict">cash flow proven</strong></p><!-- dropped -->
<table><caption>Income</caption><thead><tr><td></td><th>April</th><th>May</th><th>Change</th></tr></thead>
<tbody>
{rows}</tbody></table>
{others}<ul>{typed}</ul>
<svg viewBox="0 0 10 10" role="img" aria-label="Cash by day"><defs><style>*{{stroke-linejoin: round}}</style>
<clipPath id="c"><rect width="10" height="10"/></clipPath></defs>
<g clip-path="url(#c)"><path d="M 0 0 L 5 7 L 10 3"/><use xlink:href="#c"/></g><text>&#160;Cash</text></svg>
{pack_data(data or data_of(books))}</main>
</body>
</html>
"""


def write_pack(path, books, **parts):
    """Write a pack of some books; return its fingerprint."""
    content = page_html(books, **parts).encode()
    path.write_bytes(content)
    return hashlib.sha256(content).hexdigest()
