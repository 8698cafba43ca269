"""Statements as plain text: the tree, the rules, and columns that fold into blocks."""

from collections import Counter
from dataclasses import dataclass, field
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from accounting_analytics.reports.statements.text import statement_text

DASH = "\N{EN DASH}"
EXPECTED = f"""\
Ana\N{REPLACEMENT CHARACTER}
Income statement
2026, USD

                             Change from
                   Mar 2026     Mar 2025
                 ──────────  ───────────
Revenues
  Sales           1,234.50          1.00
    Café 東京            {DASH}          1.00
                 ──────────  ───────────
Total revenues        1.00          1.00

Expenses
  Rent           (1,234.50)         1.00
                 ──────────  ───────────
Net income       not known          1.00
                 ══════════  ═══════════
Cash at the end       1.00          1.00

Note: x"""


@dataclass
class Shown:
    """A statement of the given rows as (label, level, kind) and columns as (label, of); figures as given, else 1.00."""

    row_fields: list
    column_fields: list
    figures: dict = field(default_factory=dict)
    title: str = "Income statement"
    company: str | None = None
    notes: tuple = ()
    amounts_in: str | None = None

    def __post_init__(self):
        self.rows = [
            SimpleNamespace(key=f"r{number}", label=label, level=level, kind=kind)
            for number, (label, level, kind) in enumerate(self.row_fields)
        ]
        self.columns = [
            SimpleNamespace(key=f"c{number}", label=label, of=of, side="")
            for number, (label, of) in enumerate(self.column_fields)
        ]

    def subtitle(self):
        return "2026, USD"

    def text(self, row, column):
        return self.figures.get((row, column), "1.00")


def months(count):
    """Return the headings of columns of a number of months."""
    return [(f"Month {number:02}", None) for number in range(count)]


def test_text_is_indented_ruled_and_aligned():
    rows = [
        ("Revenues", 0, "heading"),
        ("Sales", 1, "ledger"),
        ("Café 東京", 2, "ledger"),
        ("Total revenues", 0, "subtotal"),
        ("Expenses", 0, "heading"),
        ("Rent", 1, "ledger"),
        ("Net income", 0, "total"),
        ("Cash at the end", 0, "balance"),
    ]
    figures = {("r1", "c0"): "1,234.50", ("r2", "c0"): DASH, ("r5", "c0"): "(1,234.50)", ("r6", "c0"): "not known"}
    shown = Shown(rows, [("Mar 2026", None), ("Change from Mar 2025", "c0")], figures, company="Ana\x1b", notes=("x",))
    assert statement_text(shown, 80) == EXPECTED


def test_columns_fold_into_blocks():
    rows = [("Rent", 0, "ledger"), ("Net income", 0, "total")]
    text = statement_text(Shown(rows, months(12)), 40)
    assert "(12 columns in 4 blocks, to fit 40\ncharacters)" in text
    assert text.count("Rent ") == text.count("Net income ") == 4
    compared = [
        (f"{month}{kind}", of and f"c{2 * month}") for month in range(3) for kind, of in (("A", ""), ("B", "c"))
    ]
    lines = statement_text(Shown(rows, compared, {("r0", "c0"): "1,234,567.00"}), 40).splitlines()
    assert [line.split() for line in lines if line[-1:] == "B"] == [["0A", "0B"], ["1A", "1B", "2A", "2B"]]
    assert "blocks" not in statement_text(Shown(rows, months(12)), 200)


def test_debits_stay_beside_credits():
    shown = Shown([("Rent", 0, "ledger")], months(4))
    for number, column in enumerate(shown.columns):
        column.side = ("debit", "credit")[number % 2]
        column.key = f"c{number // 2} {column.side}"
    text = statement_text(shown, 36)
    assert "(4 columns in 2 blocks, to fit 36" in text
    assert [line.split()[1::2] for line in text.splitlines() if "Month" in line] == [["00", "01"], ["02", "03"]]


def test_long_labels_lose_their_middle():
    name = f"Begin {'x' * 290} end"
    narrow = statement_text(Shown([(name, 3, "ledger")], months(6)), 80)
    assert max(map(len, narrow.splitlines())) <= 80
    assert f"      Begin {'x' * 9}…{'x' * 10} end " in narrow
    wide = statement_text(Shown([(name, 0, "ledger")], months(1)), 200).splitlines()[-1]
    assert (wide.index("1.00"), wide[:6]) == (66, "Begin ")


def test_amounts_are_never_cut():
    amount = "(9,999,999,999,999,999,999,999.99)"
    text = statement_text(Shown([("A name of an account", 0, "ledger")], months(2), {("r0", "c1"): amount}), 40)
    assert f"\nA name o…account  {amount}" in text
    assert "2 columns in 2 blocks" in text


LABELS = st.text(st.characters(categories=["L", "N", "S", "Zs"]), min_size=1, max_size=60)
AMOUNTS = st.integers(-(10**12), 10**12).map(lambda units: f"({-units:,})" if units < 0 else f"{units:,}")


@given(
    st.lists(st.tuples(LABELS, st.integers(0, 6)), min_size=1, max_size=4),
    st.integers(1, 9),
    st.integers(40, 120),
    st.data(),
)
def test_every_figure_is_shown_once(rows, count, width, data):
    fields = [(label, level, "ledger") for label, level in rows]
    cells = [(f"r{row}", f"c{column}") for row in range(len(rows)) for column in range(count)]
    figures = {cell: data.draw(AMOUNTS) for cell in cells}
    lines = statement_text(Shown(fields, months(count), figures), width).splitlines()
    assert max(map(cell_len, lines)) <= width
    shown = [word for line in lines for word in line.split()]
    assert not Counter(figures.values()) - Counter(shown)
