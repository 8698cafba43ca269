"""What a page shows and records, read without the package: figures as text, entries, and sums of them."""

import base64
import gzip
import json
import re
from decimal import ROUND_HALF_EVEN, Decimal
from html.parser import HTMLParser
from typing import NamedTuple


class ShownFigure(NamedTuple):
    """An amount on a page: its table, its key, its text, and whether its sign is left out."""

    table: str
    key: str
    text: str
    is_size: bool


class PageReader(HTMLParser):
    """Reads the elements of a page that show figures, and its data."""

    def __init__(self, text):
        super().__init__()
        self.figures, self.data, self.tags = [], {}, []
        self._open, self._script = [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if tag == "script":
            self._script = attributes.get("id")
        if tag not in {"meta", "br", "img", "input", "link", "wbr", "hr", "col"}:
            self._open.append((tag, attributes, []))

    def handle_endtag(self, tag):
        while self._open:
            name, attributes, pieces = self._open.pop()
            if "data-key" in attributes:
                around = [one["data-table"] for _, one, _ in self._open if "data-table" in one]
                table = attributes.get("data-table") or around[-1]
                text = "".join(pieces).strip()
                self.figures.append(
                    ShownFigure(table, attributes["data-key"], text, attributes.get("data-form") == "magnitude")
                )
            if name == tag:
                break

    def handle_data(self, data):
        if self._open:
            self._open[-1][2].append(data)
        if self._script and self._open and self._open[-1][0] == "script":
            self.data[self._script] = self.data.get(self._script, "") + data


class RecordedSums:
    """Sums of the entries of a page by what it states about its figures."""

    def __init__(self, data):
        self.data = json.loads(gzip.decompress(base64.b64decode(data["pack-data"])))
        self.lines = [
            (ledger, self.data["dates"][date], part, int(units))
            for ledger, date, _, _, units, part, _ in self.data["lines"]
        ]
        self.of_ledger = {}
        for line in self.lines:
            self.of_ledger.setdefault(line[0], []).append(line)

    def units(self, table, key):
        """Recompute a figure in minor units; None where it is not known."""
        kind, _, *parts = self.data["tables"][table]["figures"][key]
        if kind == "unknown":
            return None
        if kind == "quotient":
            part, whole = (self.units(table, one) for one in parts[:2])
            times, digits, _ = parts[2:] or (100, 1, "%")
            return int((Decimal(times * 10**digits * part) / whole).quantize(Decimal(1), ROUND_HALF_EVEN))
        (parts,) = parts
        if kind == "stated":
            return int(parts)
        if kind == "lines":
            return sum(sign * line[3] for sign, first, last in parts for line in self.lines[first : last + 1])
        if kind == "terms":
            terms = [(sign, self.units(table, part)) for sign, part in parts]
            return (
                None if None in [one for _, one in terms] else sum(-one if sign == "-" else one for sign, one in terms)
            )
        return sum(
            factor * units
            for factor, wanted, first, last, ledgers in parts
            for ledger in ledgers
            for _, day, part, units in self.of_ledger.get(ledger, ())
            if first <= day <= last and wanted in {0, part}
        )


def read_checked(html):
    """Read a page whose figures each have the text of what their entries or terms sum to; return it with the sums."""
    page = PageReader(html)
    sums = RecordedSums(page.data)
    for figure in page.figures:
        units = sums.units(figure.table, figure.key)
        assert units_of(figure.text) == (abs(units) if figure.is_size and units else units), figure
    return page, sums


def units_of(text):
    """Minor units of an amount as it is shown, at scale 2, or of a quotient; None where it is not known."""
    if text == "not known":
        return None
    if text == "\N{EN DASH}":
        return 0
    digits = re.fullmatch(r"\(?-?([\d,]+\.\d\d|[\d,]+\.\d(?:%| days))\)?", text)
    assert digits, text
    units = int(re.sub(r"\D", "", digits.group(1)))
    return -units if text[0] in "(-" else units
