"""The check in the page, in a real browser, and that of Python: no alarm on genuine packs, every alteration found."""

import json
import random

import pytest
from alterations import ALTERATIONS, CALCULATED, alter
from small_packs import PLAIN_NAMES, UNUSUAL_NAMES, make_books, page_html, write_pack

import accounting_analytics as aa
from accounting_analytics.pack.browser_check import check_script
from accounting_analytics.pack.read_page import read_shown, value_text

pytestmark = pytest.mark.browser
RESULT = "document.querySelector('.pack-check-result')"
FAILED = "[...document.querySelectorAll('.pack-check-failed')].map(one => [one.dataset.key, one.title])"


# the first have every size of books, every scale, and all but the largest amounts
@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(12, 50))])
def test_no_alarm_on_genuine_packs(check_in_browser, tmp_path, seed):
    """Books with other amounts, scales, sizes and names, markup and line breaks among them, raise no alarm."""
    names = UNUSUAL_NAMES if seed % 2 else PLAIN_NAMES
    sizes = {"transactions": (0, 1, 40, 200)[seed % 4], "scale": (2, 0, 3)[seed % 3], "largest": 10 ** (seed % 17 + 1)}
    books = make_books(seed, names=names, **sizes)
    fingerprint = write_pack(tmp_path / "pack.html", books)
    passed, text = check_in_browser(tmp_path / "pack.html", fingerprint)
    assert (passed, "the fingerprint is the one that you pasted" in text) == (True, True), text
    assert f"28 figures recomputed from {len(books.lines):,} line entries" in text
    assert "1 amount expected, or of the service's report, compared with the data in this page alone." in text


@pytest.mark.parametrize("name", [one for one in ALTERATIONS if "percentage" not in one])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_alterations_are_found(check_in_browser, pack, name, seed):
    """With its fingerprint the page is not the one that was sent; without it figures may contradict the entries."""
    path, fingerprint = pack
    path.write_text(alter(name, seed, path.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
    passed, text = check_in_browser(path, fingerprint)
    assert (passed, f"Fingerprint: shown {fingerprint}" in text) == (False, True)
    assert check_in_browser(path)[0] != (name in CALCULATED)


def test_a_figure_that_fails_is_marked_and_linked(browser, check_in_browser, pack):
    """The reader sees where it is and what follows from the entries, and another check removes no mark of its own."""
    path, _ = pack
    text = path.read_text(encoding="utf-8")
    shown = text.partition('data-table="income" data-key="sales|2026-05">')[2].partition("<")[0]
    path.write_text(text.replace(f">{shown}<", ">1.00<", 1), encoding="utf-8", newline="\n")
    for _ in range(2):
        passed, said = check_in_browser(path)
        assert not passed
        assert "1 check failed: this is not the page as it was written." in said
        assert f"Figure, Sales, May: shown 1.00, recomputed {shown} Show it" in said
        assert browser.evaluate(FAILED) == [["sales|2026-05", f"Recomputed: {shown}"]]
    browser.evaluate("document.querySelector('.pack-check-result a').click()")
    assert browser.evaluate("document.querySelector(':target').textContent") == "1.00"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('id="pack-data">', 'id="pack-data">*', "The page cannot be checked: "),
        ('id="pack-data">', 'id="pack-data">AAAA', "The page cannot be checked: "),
        ("</main>", '<script id="pack-data" type="text/plain"></script></main>', "2 elements of data"),
        ("</main>", "<!-- a comment --></main>", "Fingerprint: shown "),
    ],
)  # fmt: skip
def test_pages_that_were_damaged(check_in_browser, pack, old, new, said):
    """What cannot be read, occurs twice or was added is said, and nothing passes."""
    path, fingerprint = pack
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(old, new, 1), encoding="utf-8", newline="\n")
    passed, found = check_in_browser(path, fingerprint)
    assert (passed, said in found) == (False, True), found


def test_a_fingerprint_that_cannot_be_compared_passes_nothing(browser, check_in_browser, pack):
    """A part of one is refused, and so is one without the file; capitals and spaces are read."""
    path, fingerprint = pack
    assert check_in_browser(path, fingerprint[:9]) == [
        False,
        "The page cannot be checked: what you pasted is not a fingerprint: copy all 64 digits.",
    ]
    browser.open(path.as_uri())
    assert check_in_browser(fingerprint=fingerprint) == [
        False,
        "The page cannot be checked: the fingerprint is of the file: choose the file of this page too.",
    ]
    assert check_in_browser(path, f" {fingerprint[:20].upper()} {fingerprint[20:]} ")[0]


def test_the_page_says_what_a_check_proves(browser, check_in_browser, pack):
    """Before and after the check, with and without a fingerprint, the limits are stated."""
    path, fingerprint = pack
    without = "without it, an alteration that figures do not contradict is not found"
    assert without in check_in_browser(path)[1]
    assert "The file is the one whose fingerprint you pasted." in check_in_browser(path, fingerprint)[1]
    section = " ".join(browser.evaluate("document.querySelector('#pack-check').textContent").split())
    assert "a person who alters the page on purpose can alter the check too" in section
    assert "It does not prove that the entries are those of the books" in section


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_check_can_be_used_by_everybody(browser, check_in_browser, tmp_path, scheme):
    """The result is in a live region, markup in names runs nothing, nothing is requested, and axe finds nothing."""
    path = tmp_path / "pack.html"
    books = make_books(3, names=UNUSUAL_NAMES)
    html = page_html(books).replace(
        "<style>",
        "<style>body { color-scheme: light dark; color: light-dark(#111, #eee); background: light-dark(#fff, #111) } ",
        1,
    )
    path.write_text(alter("figure", 1, html), encoding="utf-8", newline="\n")
    assert not check_in_browser(path, scheme=scheme, width=390)[0]
    assert browser.evaluate(f"{RESULT}.getAttribute('role')") == "status"
    assert browser.evaluate("performance.getEntriesByType('resource').length") == 0
    assert browser.evaluate("document.querySelectorAll('img, script:not([type])').length") == 0
    assert browser.accessibility_faults("#pack-check") == []


def test_both_checks_write_and_read_figures_alike(browser):
    """Amounts of any size, and texts of any kind, are the same in both."""
    chance = random.Random(1)  # noqa: S311 (the same ones in each run)
    values = [
        (chance.choice((-1, 1)) * chance.randrange(10 ** chance.randrange(1, 25)), chance.randrange(5))
        for _ in range(2000)
    ]
    texts = [
        "".join(chance.choices("0123456789,.()-+%\u2212\u2013 \u00a0notkw", k=chance.randrange(9))) for _ in range(2000)
    ]
    texts += [value_text(*value) for value in values]
    browser.evaluate(f"window.script = {json.dumps(check_script())}; 0")
    write = "([units, scale]) => valueText(BigInt(units), scale, '')"
    both = json.dumps(f"; return [values.map({write}), texts.map((text) => readShown(text) ?? null)]")
    call = f"new Function('values', 'texts', script + {both})"
    given = [(str(units), scale) for units, scale in values]
    written, read = browser.evaluate(f"{call}({json.dumps(given)}, {json.dumps(texts)})")
    assert written == [value_text(*value) for value in values]
    assert read == [read_shown(text) for text in texts]
    assert 1000 < sum(text is not None for text in read) < len(texts)


PERIODS = [
    *(f"2026-{month:02}" for month in range(1, 6)),
    *(f"2026-{month:02}-{day:02}/2026-{month:02}-{day + 8:02}" for month in range(1, 6) for day in (1, 7, 12, 17)),
]


@pytest.mark.soak
def test_no_alarm_on_monthly_packs(unusual_client, check_in_browser, soak_count, tmp_path):
    """Books with markup, line breaks and emoji in names and texts, of months and of weeks, with and without sums."""
    path = tmp_path / "pack.html"
    for number, period in enumerate([*PERIODS, *PERIODS][: soak_count(50, fewer=2)]):
        made = aa.monthly_pack(
            unusual_client,
            period,
            company=UNUSUAL_NAMES["company"],
            currency=("USD", "\u20ac", "")[number % 3],
            books_start="2026-01-01" if number % 2 else None,
            progress=False,
        )
        made.save(path)
        result = aa.verify_pack(path, fingerprint=made.fingerprint)
        assert (list(result.differences), result.unchecked) == ([], ()), period
        assert result.figures > 100
        passed, text = check_in_browser(path, made.fingerprint)
        assert passed, (period, text)
        assert f"{result.figures:,} figures recomputed from {result.entries:,} line entries" in text


IN_EVERY_RUN = {"amount", "verdict", "percentage", "whole of a percentage"}


@pytest.mark.soak
@pytest.mark.parametrize(
    "name",
    [one if one in IN_EVERY_RUN else pytest.param(one, marks=pytest.mark.long) for one in ALTERATIONS],
)
def test_every_alteration_is_found(demo_pack, check_in_browser, soak_count, tmp_path, name):
    """Both checks find each with the fingerprint, and without it they find the same."""
    text, fingerprint = demo_pack.html, demo_pack.fingerprint
    path = tmp_path / "pack.html"
    for seed in range(soak_count(20, fewer=1)):
        altered = alter(name, seed, text)
        path.write_text(altered, encoding="utf-8", newline="\n")
        assert not aa.verify_pack(path, fingerprint=fingerprint).verified
        assert not check_in_browser(path, fingerprint)[0]
        is_found = (not aa.verify_pack(path).verified, not check_in_browser(path)[0])
        assert is_found[0] == is_found[1], (name, seed)
        if name != "ledger":  # of two ledgers of one total, in days of which only the total is shown
            assert is_found[0] == (name in CALCULATED), (name, seed)
