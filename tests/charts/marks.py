"""Marks and tables of charts as a reader finds them: by their keys, and by a press on a figure."""

from decimal import Decimal


def marks_of(picture):
    """Yield key, text and size of each mark of a chart."""
    for trace in picture.data:
        is_grid = trace.type == "heatmap"
        values = trace.z if is_grid else trace.x if getattr(trace, "orientation", None) == "h" else trace.y
        rows = zip(trace.customdata, values, strict=True) if is_grid else [(trace.customdata, values)]
        for marks, sizes in rows:
            yield from ((mark[0], mark[-1], size) for mark, size in zip(marks, sizes, strict=True))


def amount_of(text):
    if text in {"not known", "no cash moved", ""}:
        return None
    number = text.strip("()").rstrip("%").replace(",", "").replace("\N{EN DASH}", "0")
    return -Decimal(number) if text.startswith("(") else Decimal(number)


def unfolded(table):
    """Yield the text of each figure of a table, and the sum of the lines or terms that a press on it shows."""
    data = table.entries
    for row in table.rows:
        for cell in row.cells:
            if not cell.key:
                continue
            if terms := data.terms.get(cell.key):
                yield cell.text, terms_sum(terms)
                continue
            name, _, column = cell.key.rpartition("|")
            units = sum(
                sign * line[-1]
                for sign, first, last in data.figures[name][column]
                for line in data.lines.lines[first : last + 1]
            )
            yield cell.text, Decimal(units).scaleb(-data.scale)


def terms_sum(terms):
    """Return what terms give: their sum, or the percentage that the first is of the second."""
    if terms[1][0] == "/":
        part, whole = (amount_of(text) for _, _, text in terms)
        return round(100 * part / whole, 1) if whole else None
    return sum(amount_of(text) if sign == "+" else -amount_of(text) for sign, _, text in terms)
