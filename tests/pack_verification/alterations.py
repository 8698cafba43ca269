"""Alterations of packs, as people make them who recompute nothing."""

import base64
import gzip
import json
import random
import re

ENTRIES = re.compile(r'(id="pack-entries"[^>]*>)([^<]*)')
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


def with_entries(change):
    """Return an alteration of the entries in the page."""

    def alter(chance, text):
        packed = ENTRIES.search(text)
        entries = json.loads(gzip.decompress(base64.b64decode(packed[2])))
        change(chance, entries)
        again = base64.b64encode(gzip.compress(json.dumps(entries, ensure_ascii=False).encode())).decode()
        return f"{text[: packed.start(2)]}{again}{text[packed.end(2) :]}"

    return alter


def amount(chance, entries):
    """Alter the amount of an entry."""
    line = chance.choice(entries["lines"])
    line[5] = int(line[5]) + chance.choice((-100, -1, 1, 90))


def day(chance, entries):
    """Move a line of flows to a day of the other month."""
    line = chance.choice([line for line in entries["lines"] if line[2]])
    month = entries["dates"][line[1]][:7]
    others = [number for number, one in enumerate(entries["dates"]) if one and not one.startswith(month)]
    line[1] = chance.choice(others)


def dropped(chance, entries):
    """Leave out a line."""
    del entries["lines"][chance.randrange(len(entries["lines"]))]


def ledger(chance, entries):
    """Give a line of flows another ledger."""
    line = chance.choice([line for line in entries["lines"] if line[2]])
    line[0] = chance.choice([number for number in range(len(entries["ledgers"])) if number != line[0]])


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
    """State the opposite verdict in the record too."""
    opposite = {'"cash flow proven"': '"cash flow not proven"', '"cash flow not proven"': '"cash flow proven"'}
    return verdict(chance, re.sub(r'(?<="verdict":)"[a-z ]+"', lambda one: opposite[one[0]], text, count=1))


def hidden_row(chance, text):
    """Hide a row of a table by its style."""
    place = chance.choice([one.start() for one in re.finditer(r'<tr[^>]*>(?=<th[^>]*scope="row")', text)]) + len("<tr")
    return f'{text[:place]} hidden=""{text[place:]}'


def hiding_style(_, text):
    """Hide the first row of every table by a style sheet."""
    return text.replace("</style>", "tbody tr:first-child { display: none }</style>", 1)


def picture(chance, text):
    """Alter a number in a picture."""
    numbers = re.finditer(r'(<(?:path|rect|line|circle|use) [^>]*?")([0-9]+)(?=[^0-9])', text)
    found = chance.choice(list(numbers))
    return f"{text[: found.start(2)]}{other_digits(chance, found[2])}{text[found.end(2) :]}"


def label(_, text):
    """Alter the label of a row."""
    return re.sub(r'(<th scope="row"[^>]*>(?:<div[^>]*>)?)', r"\1Restated ", text, count=1)


def extra_row(chance, text):
    """Show a row twice."""
    row = chance.choice(re.findall(r'<tr[^>]*><th[^>]*scope="row".*?</tr>', text, re.DOTALL))
    return text.replace(row, row + row, 1)


ALTERATIONS = {
    "figure": figure,
    "amount": with_entries(amount),
    "day": with_entries(day),
    "dropped": with_entries(dropped),
    "ledger": with_entries(ledger),
    "names": with_entries(names),
    "verdict": verdict,
    "verdict everywhere": verdict_everywhere,
    "hidden row": hidden_row,
    "hiding style": hiding_style,
    "picture": picture,
    "label": label,
    "extra row": extra_row,
}
CALCULATED = ("figure", "amount", "day", "dropped", "ledger", "verdict")
"""Alterations that are found without any fingerprint."""


def alter(name, seed, text):
    """Return an altered page, of which nothing else was changed."""
    altered = ALTERATIONS[name](random.Random(f"{name} {seed}"), text)  # noqa: S311 (the same ones in each run)
    assert altered != text, name
    return altered
