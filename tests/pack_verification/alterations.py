"""Alterations of packs, as people make them who recompute nothing."""

import base64
import gzip
import json
import random
import re

DATA = re.compile(r'(id="pack-data"[^>]*>)([^<]*)')
FIGURE = re.compile(r"(data-key=[^>]*>)([^<]*?)([0-9]+)([^<0-9]*<)")


def other_digits(chance, digits):
    """Return digits that differ in one place from others."""
    place = chance.randrange(len(digits))
    digit = chance.choice([one for one in "123456789" if one != digits[place]])
    return f"{digits[:place]}{digit}{digits[place + 1 :]}"


def figure(chance, text):
    """Alter a digit of a figure."""
    found = chance.choice(list(FIGURE.finditer(text)))
    return f"{text[: found.start(3)]}{other_digits(chance, found[3])}{text[found.end(3) :]}"


def replaced(old, new):
    """Return an alteration that replaces the first of a text."""
    return lambda _, text: text.replace(old, new, 1)


def substituted(pattern, new):
    """Return an alteration that replaces the first of a pattern."""
    return lambda _, text: re.sub(pattern, new, text, count=1)


def with_data(change):
    def alter(chance, text):
        packed = DATA.search(text)
        data = json.loads(gzip.decompress(base64.b64decode(packed[2])))
        change(chance, data)
        again = base64.b64encode(gzip.compress(json.dumps(data, ensure_ascii=False).encode())).decode()
        return f"{text[: packed.start(2)]}{again}{text[packed.end(2) :]}"

    return alter


def amount(chance, entries):
    """Alter the amount of an entry."""
    line = chance.choice(entries["lines"])
    line[4] = int(line[4]) + chance.choice((-100, -1, 1, 90))


def day(chance, entries):
    """Move a line of flows to a day of the other month."""
    line = chance.choice([line for line in entries["lines"] if line[5]])
    month = entries["dates"][line[1]][:7]
    others = [number for number, one in enumerate(entries["dates"]) if one and not one.startswith(month)]
    line[1] = chance.choice(others)


def dropped(chance, entries):
    """Leave out a line."""
    del entries["lines"][chance.randrange(len(entries["lines"]))]


def ledger(chance, entries):
    """Give a line of flows another ledger."""
    line = chance.choice([line for line in entries["lines"] if line[5]])
    line[0] = chance.choice([number for number in range(len(entries["ledgers"])) if number != line[0]])


def days_of_a_figure(_, data):
    """Let the figure with the most lines begin with its last day."""

    def lines_of(part):
        _, wanted, first, last, ledgers = part
        chosen = (one for one in data["lines"] if one[0] in ledgers and wanted in {0, one[5]})
        return sum(first <= data["dates"][one[1]] < last for one in chosen)

    figures = [one for table in data["tables"].values() for one in table["figures"].values() if one[0] == "sum"]
    part = max((part for one in figures for part in one[2] if part[2]), key=lines_of)
    part[2] = part[3]


def percentage(chance, text):
    """Alter a digit of a percentage."""
    found = chance.choice(list(re.finditer(r"data-key=[^>]*>\(?([0-9.]+)%", text)))
    digits = f"{found[1][:-1]}{other_digits(chance, found[1][-1])}"
    return f"{text[: found.start(1)]}{digits}{text[found.end(1) :]}"


def whole_of_a_percentage(_, data):
    """Let a percentage be one of another figure."""
    table = next(
        one for one in data["tables"].values() if any(kind == "quotient" for kind, *_ in one["figures"].values())
    )
    quotients = [one for one in table["figures"].values() if one[0] == "quotient"]
    quotients[0][3] = quotients[0][2]


def other_key(chance, text):
    """Give a figure of a sentence the key of another one of its table with another amount."""
    figures = list(re.finditer(r'data-table="(income|key_figures)" data-key="([^"]+)">([^<]+)<', text))
    found = chance.choice(figures)
    key = chance.choice([one[2] for one in figures if one[1] == found[1] and one[3] != found[3]])
    return f"{text[: found.start(2)]}{key}{text[found.end(2) :]}"


def names(chance, entries):
    """Swap the names of two ledgers."""
    one, other = chance.sample(range(len(entries["ledgers"])), 2)
    entries["ledgers"][one], entries["ledgers"][other] = entries["ledgers"][other], entries["ledgers"][one]


def verdict(_, text):
    """State the opposite verdict where people read it."""
    return re.sub(
        r'(data-field="verdict"[^>]*>cash flow )(not )?', lambda one: one[1] + ("" if one[2] else "not "), text, count=1
    )


def verdict_everywhere(chance, text):
    """State the opposite verdict in the data too."""

    def change(_, data):
        data["verdict"] = "cash flow not proven" if data["verdict"] == "cash flow proven" else "cash flow proven"

    return verdict(chance, with_data(change)(chance, text))


def hidden_row(chance, text):
    """Hide a row of a table by its style."""
    place = chance.choice([one.start() for one in re.finditer(r'<tr[^>]*>(?=<th[^>]*scope="row")', text)]) + len("<tr")
    return f'{text[:place]} hidden=""{text[place:]}'


def picture(chance, text):
    numbers = re.finditer(r'(<(?:path|rect|line|circle|use) [^>]*?")([0-9]+)(?=[^0-9])', text)
    found = chance.choice(list(numbers))
    return f"{text[: found.start(2)]}{other_digits(chance, found[2])}{text[found.end(2) :]}"


def extra_row(chance, text):
    """Show a row twice."""
    row = chance.choice(re.findall(r'<tr[^>]*><th[^>]*scope="row".*?</tr>', text, re.DOTALL))
    return text.replace(row, row + row, 1)


ALTERATIONS = {
    "figure": figure,
    "amount": with_data(amount),
    "day": with_data(day),
    "dropped": with_data(dropped),
    "ledger": with_data(ledger),
    "names": with_data(names),
    "verdict": verdict,
    "verdict everywhere": verdict_everywhere,
    "hidden row": hidden_row,
    "hiding style": replaced("</style>", "tbody tr:first-child { display: none }</style>"),
    "picture": picture,
    "label": substituted(r'(<th scope="row"[^>]*>(?:<div[^>]*>)?)', r"\1Restated "),
    "extra row": extra_row,
    "days of a figure": with_data(days_of_a_figure),
    "percentage": percentage,
    "whole of a percentage": with_data(whole_of_a_percentage),
    "other key": other_key,
}
CALCULATED = (
    *("figure", "amount", "day", "dropped", "ledger", "verdict", "other key", "days of a figure", "percentage"),
    "whole of a percentage",
)
"""Alterations that are found without any fingerprint."""


def alter(name, seed, text):
    """Return an altered page, of which nothing else was changed."""
    altered = ALTERATIONS[name](random.Random(f"{name} {seed}"), text)  # noqa: S311 (the same ones in each run)
    assert altered != text, name
    return altered
