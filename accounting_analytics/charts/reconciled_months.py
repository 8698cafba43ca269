"""Heat map of what differs between reported and recomputed months, by ledger."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.arguments import require_type
from accounting_analytics.charts.figure import day_remarks, mark_sizes, titled_figure
from accounting_analytics.charts.labels import BALANCE_COLOUR, OUTFLOW_COLOUR, amount_label, escaped, shortened
from accounting_analytics.errors import InputError
from accounting_analytics.figures import KEY_SEPARATOR, OWN
from accounting_analytics.money import format_amount, from_minor_units
from accounting_analytics.reconciliation import Reconciliation, differences_by_month
from accounting_analytics.schemas import MonthlyDifferences

if TYPE_CHECKING:
    import datetime as dt

    import plotly.graph_objects as go

    from accounting_analytics.periods import Period

    Cells = Sequence[Sequence[Decimal | None]]

_TIE_COLOUR, _TIE_TEXT, _OTHER_TEXT = "#EEEEEE", "=", "\N{NOT EQUAL TO}"
_PALEST = 0.25
"""Part of the full colour that the smallest difference has."""
_MAX_HORIZONTAL_LABELS = 5
_ROW_HEIGHT, _TALL_ROW_HEIGHT, _LABEL_HEIGHT = 24, 64, 24
_DARK = 0.85
"""Part of the full colour on which white is read more easily than black."""
_TITLES = {"net_cash_flow": "", "starting_balance": ", start", "ending_balance": ", end"}


class _Row(NamedTuple):
    """A figure of a ledger."""

    what: str
    ledger_id: str
    label: str

    @property
    def place(self) -> int:
        """Flows are above starting and ending balances, and these above all else."""
        return list(_TITLES).index(self.what) if self.what in _TITLES else len(_TITLES)

    @property
    def key(self) -> str:
        """Key of a net cash flow in the report of a month; balances of ledgers are no figures of a report."""
        return (
            f"{OWN}{self.ledger_id}" if self.what == "net_cash_flow" else f"{self.what}{KEY_SEPARATOR}{self.ledger_id}"
        )


def reconciled_months(months: Sequence[Reconciliation]) -> go.Figure:
    """Heat map of the differences of reconciled months: a row for each figure that differs, a column for each month.

    Blue cells are more in the report than recomputed, orange ones less; the deeper the colour, the larger the
    difference, which is written in the cell. A cell with ``=`` ties. A month that differs in nothing but lines, totals
    or sums of the report has a row for these.

    Parameters
    ----------
    months : sequence of Reconciliation
        As in ``reconcile_months(...).reconciliations``.

    Returns
    -------
    plotly.graph_objects.Figure
        The first ``customdata`` of a cell is the key of a net cash flow, such as ``own:led_rent``, in the report of its
        month; of any other figure it is what differs and the id of the ledger.

    Raises
    ------
    InputError
        There are no months, or `months` is something else.
    """
    hint = "pass reconciliations of what reconcile_months returns"
    require_type(months, Sequence, "months", hint)
    for month in months:
        require_type(month, Reconciliation, "one of the months", hint)
    if not months:
        raise InputError(f"there are no months to draw; {hint}")
    exact = MonthlyDifferences.exact(differences_by_month(months))
    found: dict[_Row, dict[dt.date, Decimal]] = {}
    for record in exact.frame.to_dict("records"):
        found.setdefault(_row(record), {})[record["start_date"].date()] = record["difference"]
    figure = titled_figure("Reported less recomputed, by month", *_remarks(months))
    labels = [_month_label(month.period) for month in months]
    if not found:
        _say_that_all_tie(figure, months)
        return figure
    rows = sorted(found, key=lambda row: (row.place, -max(map(abs, found[row].values())), row.label))
    cells = [[found[row].get(month.period.start_date) for month in months] for row in rows]
    _draw_cells(figure, rows, labels, cells, exact.scale)
    return figure


def _draw_cells(figure: go.Figure, rows: Sequence[_Row], labels: Sequence[str], cells: Cells, scale: int) -> None:
    """Draw the rows, one cell for each month; a cell without a difference ties."""
    tie = from_minor_units(0, scale)
    amounts = [[tie if cell is None else cell for cell in line] for line in cells]
    largest = max(abs(amount) for line in amounts for amount in line) or Decimal(1)
    marks = [
        [
            [row.key, f"{row.label}, {month}{' ties' if cell is None else ''}", format_amount(cell or tie)]
            for month, cell in zip(labels, line, strict=True)
        ]
        for row, line in zip(rows, cells, strict=True)
    ]
    figure.add_heatmap(
        x=list(range(len(labels))),
        y=list(range(len(rows))),
        z=[mark_sizes(line) for line in amounts],
        zmin=-float(largest),
        zmax=float(largest),
        colorscale=_colours(largest, scale),
        showscale=False,
        xgap=1,
        ygap=_LABEL_HEIGHT,
        text=[[_TIE_TEXT if cell is None else "" for cell in line] for line in cells],
        texttemplate="%{text}",
        textfont={"color": "#666666"},
        customdata=marks,
        hovertemplate="%{customdata[1]}<br>%{customdata[2]}<extra></extra>",
    )
    is_narrow = len(labels) > _MAX_HORIZONTAL_LABELS
    angle = -90 if is_narrow else 0
    texts: list[dict[str, Any]] = []
    for y, (row, line) in enumerate(zip(rows, cells, strict=True)):
        texts.append(_label(y, row.label))
        for x, cell in enumerate(line):
            if cell is not None:
                texts.append(_amount(x, y, cell, _strength(cell, largest, scale), angle=angle))
    figure.update_layout(annotations=texts)  # all together: Plotly copies those that are there for each that is added
    places = {"tickvals": list(range(len(labels))), "ticktext": labels, "ticklabeloverflow": "allow"}
    figure.update_xaxes(**places, tickangle=angle, range=[-0.5, len(labels) - 0.5], zeroline=False, fixedrange=True)
    figure.update_yaxes(visible=False, range=[len(rows) - 0.5, -0.5], fixedrange=True)
    height = _LABEL_HEIGHT + (_TALL_ROW_HEIGHT if is_narrow else _ROW_HEIGHT)
    figure.update_layout(height=figure.layout.margin.t + 80 + height * len(rows), margin={"b": 80})


def _remarks(months: Sequence[Reconciliation]) -> list[str]:
    """Days, limits and the meaning of the colours."""
    first, last = months[0].period, months[-1].period
    untied = sum(not month.ties for month in months)
    partial = ["PARTIAL: lines are missing"] if any(month.partial for month in months) else []
    return [
        *day_remarks(first.start_date, last.end_date, first.time_zone),
        f"{untied} of {len(months)} month(s) differ",
        *partial,
        "blue + more in the report, orange \N{MINUS SIGN} less, = ties",
    ]


def _row(difference: dict[Any, Any]) -> _Row:
    what, ledger_id, name = (difference[one] for one in ("what", "ledger_id", "ledger_name"))
    ledger = escaped(shortened(name)) if isinstance(name, str) else ""
    label = f"{ledger}{_TITLES[what]}" if what in _TITLES else ", ".join(filter(None, [ledger, what.replace("_", " ")]))
    return _Row(what, ledger_id if isinstance(ledger_id, str) else "", label)


def _month_label(period: Period) -> str:
    """Month of a period, or its days where it is longer."""
    is_month = (period.start_date.year, period.start_date.month) == (period.end_date.year, period.end_date.month)
    return f"{period.start_date:%b %Y}" if is_month else f"{period.start_date} to {period.end_date}"


def _say_that_all_tie(figure: go.Figure, months: Sequence[Reconciliation]) -> None:
    """Write that all months tie in the place of cells."""
    everything = all(month.compared_everything for month in months)
    text = f"All {len(months)} month(s) tie{'' if everything else ' in the figures compared'}"
    figure.add_annotation(text=text, x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False, font={"size": 16})
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    figure.update_layout(height=figure.layout.margin.t + 130)


def _label(y: int, label: str) -> dict[str, Any]:
    """Text of what a row is, above it, so that a narrow page is left to the months."""
    at = {"x": 0, "xref": "paper", "xanchor": "left", "y": y - 0.5, "yanchor": "middle"}
    return {"text": label, "showarrow": False, "borderpad": 0, **at}


def _amount(x: int, y: int, cell: Decimal, strength: float, *, angle: int) -> dict[str, Any]:
    """Text of an amount in its cell, in a colour that can be read there."""
    return {
        "x": x,
        "y": y,
        "text": amount_label(cell, sign=True) if cell else _OTHER_TEXT,
        "name": "amount",
        "textangle": angle if cell else 0,
        "showarrow": False,
        "font": {"size": 11, "color": "white" if strength > _DARK else "black"},
    }


def _strength(amount: Decimal, largest: Decimal, scale: int) -> float:
    """Part of the full colour, from the smallest unit to the largest difference by the number of digits."""
    digits = len(str(int(abs(amount).scaleb(scale)))) if amount else 0
    most = len(str(int(largest.scaleb(scale))))
    return _PALEST + (1 - _PALEST) * digits / most


def _colours(largest: Decimal, scale: int) -> list[list[Any]]:
    """Colours from the largest negative to the largest positive difference; one digit more is one shade deeper.

    Plotly interpolates between them; zero alone has the colour of ties.
    """
    most = len(str(int(largest.scaleb(scale))))
    steps = [Decimal(10) ** (digits - 1 - scale) for digits in range(1, most + 1)]
    shares = [(float(step / largest), _strength(step, largest, scale)) for step in steps]
    shares.append((1.0, 1.0))
    nearest = shares[0][0] / 2
    less = [[(1 - share) / 2, _shade(OUTFLOW_COLOUR, part)] for share, part in reversed(shares)]
    more = [[(1 + share) / 2, _shade(BALANCE_COLOUR, part)] for share, part in shares]
    ties = [[(1 - nearest) / 2, _TIE_COLOUR], [(1 + nearest) / 2, _TIE_COLOUR]]
    return [*less, *ties, *more]


def _shade(colour: str, part: float) -> str:
    """Colour between white and the full one."""
    channels = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgb({','.join(str(round(255 - (255 - channel) * part)) for channel in channels)})"
