"""Pages printed by a browser: paper, heads and page numbers; nothing cut, nothing loaded, and every failure named."""

import dataclasses
import functools
import re
import subprocess
import time
from contextlib import suppress
from html import unescape
from importlib import resources
from pathlib import Path

import pytest

from accounting_analytics.core.errors import ConfigurationError, JobTimedOutError, PdfFailedError
from accounting_analytics.pack.print_pdf import find_browser, print_pdf

FIGURES = (
    resources.files("accounting_analytics.reports.figures").joinpath("figure_table.css").read_text(encoding="utf-8")
)
STYLE = resources.files("accounting_analytics.pack").joinpath("print.css").read_text(encoding="utf-8")
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><title>Harbor Lane, May 2026</title>
<style>:root {{ --print-heading: "Harbor Lane, May 2026"; }} .scrolled {{ max-height: 20em; overflow: auto; }}
body {{ font: 15px/1.5 system-ui; }} main {{ max-width: 980px; margin: auto; padding: 32px 20px; }} {style}</style>
</head>
<body><main>{content}</main></body>
</html>
"""
PIXEL = (
    '<img alt="" src="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk'
    '+M/wHwAEBgIApD5fRAAAAABJRU5ErkJggg==">'
)
A4, LETTER = (595, 842), (612, 792)
NOTES = {
    0: None,
    1: "Cash is fine.",
    4: "Sales rose by a tenth.\n\nThe rent of June was paid early.\n\nA machine was bought.\n\nNo tax is due.",
    10: "## May\n"
    + "\n".join(f"- Branch {number} earned more than in April, and paid all it owed." for number in range(9)),
}
"""Notes of an owner by their number of lines."""


def page(content):
    return PAGE.format(style=STYLE, content=content)


@pytest.fixture
def read(tmp_path):
    """Return a function that checks the heading and number of each page, and returns the other text and the sizes."""

    def read(pdf, heading="Harbor Lane, May 2026"):
        path = tmp_path / "page.pdf"
        path.write_bytes(pdf)
        described = subprocess.run(["pdfinfo", "-l", "-1", path], capture_output=True, text=True, check=True).stdout  # noqa: S603, S607
        sizes = re.findall(r"^Page.*size:\s+(\S+) x (\S+) pts", described, re.MULTILINE)
        pages = [without_space(one) for one in printed_texts(path)]
        assert len(pages) == len(sizes)
        margins = [without_space(f"{number}/{len(pages)}{heading}") for number in range(1, len(pages) + 1)]
        assert [one[: len(margin)] for one, margin in zip(pages, margins, strict=True)] == margins
        texts = [one.removeprefix(margin) for one, margin in zip(pages, margins, strict=True)]
        assert "" not in texts
        return texts, [(round(float(width)), round(float(height))) for width, height in sizes]

    return read


def printed_texts(path):
    """Return the text of each page of a PDF, cell by cell, also where their texts have several lines."""
    command = ["pdftotext", "-raw", path, "-"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 (our own file)
    return text.removesuffix("\f").split("\f")


def without_space(text):
    """Return a text without white space, which printing changes."""
    return "".join(text.split())


def texts_of(name, html):
    """Return the text without white space of each element of a name."""
    found = re.findall(rf"<{name}\b[^>]*>(.*?)</{name}>", html, re.DOTALL)
    return [without_space(unescape(re.sub(r"<[^>]*>", "", content))) for content in found]


@pytest.mark.browser
@pytest.mark.pdftotext
def test_pack_on_paper_has_every_row_text_and_picture(demo_pack, read):
    pages, sizes = read(print_pdf(demo_pack.html, find_browser()), demo_pack.title)
    body = re.sub(r"<(script|style)\b.*?</\1>", "", demo_pack.html.partition("<body")[2], flags=re.DOTALL)
    pictures = [one.partition("</svg>")[0] for one in re.findall(r"<figure\b.*?</figure>", body, re.DOTALL)]
    labels = texts_of("text", "".join(pictures))
    paragraphs = texts_of("li", body)
    assert len(pictures) == len(demo_pack.content.pictures) >= 3
    assert min(len(texts_of("tr", body)) - 200, len(labels) - 60, len(paragraphs) - 10) > 0
    assert [one for one in (*texts_of("tr", body), *labels, *paragraphs) if one not in "".join(pages)] == []
    assert min(map(len, pages)) > 100
    assert set(sizes) == {A4, A4[::-1]}  # the income statement is wide


def print_on(paper, html):
    """Print a page on a paper that its style may not name."""
    return print_pdf(html if paper == A4 else html.replace("size: A4", "size: letter"), find_browser())


def require_kept_together(pages, html):
    """Fail if a page begins with a total or ends with what is above rows: a heading, a head or the name of a group."""
    rows = [
        (classes, without_space(unescape(re.sub(r"<[^>]*>", "", cells))))
        for classes, cells in re.findall(r'<tr(?: class="([\w ]*)")?>(.*?)</tr>', html, re.DOTALL)
    ]
    heads = {text for head in re.findall(r"<thead>.*?</thead>", html, re.DOTALL) for text in texts_of("tr", head)}
    totals = tuple(text for kind, text in rows if kind in {"subtotal", "total", "balance", "percent"})
    above = (*(heads - {""}), *(text for kind, text in rows if kind in {"heading", "parent"}))
    above += tuple(text for name in ("h2", "h3", "summary") for text in texts_of(name, html))
    captions = tuple(texts_of("figcaption", html))
    assert min(len(totals), len(above)) > 5
    for page in pages:
        head = max((one for one in heads if page.startswith(one)), key=len, default="")
        assert not page.removeprefix(head).startswith(totals), page[:200]
        assert not page.endswith(above) or page.endswith(captions), page[-200:]


@pytest.fixture(scope="module")
def with_note(demo_pack):
    """Return a function that makes the pack with a note of so many lines, once for all papers."""

    @functools.cache
    def make(lines):
        return dataclasses.replace(demo_pack, note=NOTES[lines], section_names=("summary", "income_statement"))

    return make


@pytest.mark.browser
@pytest.mark.pdftotext
@pytest.mark.parametrize("paper", [A4, LETTER], ids=["A4", "letter"])
@pytest.mark.parametrize("lines", NOTES)
def test_what_belongs_together_is_on_one_page(with_note, read, paper, lines):
    pack = with_note(lines)
    pages, sizes = read(print_on(paper, pack.html), pack.title)
    assert set(sizes) == {paper, paper[::-1]}
    require_kept_together(pages, pack.html)
    (figures,) = (one for one in pages if "Cashattheendofeachday,May2026" in one)
    assert {"Keyfigures", "Notcategorized(inlessout)"} <= set(
        re.findall(r"Keyfigures|Notcategorized\(inlessout\)", figures)
    )
    (result,) = (one for one in pages if "Netincome7" in one and "Totalotherexpenses" in one)
    assert "OtherexpensesOtherExpenses" in result  # the head of the group, and its first row
    if not lines or (paper == A4 and lines <= 4):
        assert figures == pages[0]


@pytest.mark.browser
@pytest.mark.pdftotext
def test_letter_paper_keeps_totals_heads_and_charts_together(demo_pack, read, tmp_path):
    pages, sizes = read(print_on(LETTER, demo_pack.html), demo_pack.title)
    assert set(sizes) == {LETTER, LETTER[::-1]}
    require_kept_together(pages, demo_pack.html)
    for caption in texts_of("figcaption", demo_pack.html):
        (page,) = (one for one in pages if caption in one)
        assert page.partition(caption)[0].rstrip("0123456789"), caption
    text = "\f".join(printed_texts(tmp_path / "page.pdf"))
    months = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
    recurring = text.partition("\nRecurring payments\n")[2].partition("\nNext 13 weeks\n")[0]
    assert len(re.findall(rf"\b\d+ (?:{months}) \d{{4}}\b", recurring)) > 40
    assert re.findall(rf"\b\d+\n(?:{months}) \d{{4}}|\b\d* ?(?:{months})\n\d{{4}}", recurring) == []
    assert re.findall(r"[\d.,]+\n\)", text) == []


@pytest.mark.browser
@pytest.mark.pdftotext
def test_long_names_and_large_amounts_are_not_cut(read):
    names, amounts = [f"{at}{'n' * 300}" for at in range(30)], [f"({at},999,999,999,999.99)" for at in range(10, 23)]
    cells = "".join(f'<td class="amount negative">{amount}</td>' for amount in amounts)
    body = "".join(f'<tr><th scope="row"><div>{name}</div></th>{cells}</tr>' for name in names)
    head = "".join(f'<th class="amount">M{at}</th>' for at in range(13))
    table = f'<table class="accounting-analytics"><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>'
    content = (
        f'<style>{FIGURES}</style><div class="accounting-analytics-figures"><div class="scrolled">{table}</div></div>'
    )
    pages, sizes = read(print_pdf(page(content), find_browser()))
    assert "".join(pages).count("n") == 9000
    assert "".join(pages).count("9") >= 30 * "".join(amounts).count("9")
    assert len([one for one in pages if one.startswith("M0M1M2")]) == len(pages) > 1
    assert set(sizes) == {A4[::-1]}


@pytest.mark.browser
@pytest.mark.pdftotext
def test_a_head_is_not_alone(read):
    rows = "".join(f"<tr><td>Row{at}of{{0}}</td></tr>" for at in range(4))
    table = f"<h2>Title{{0}}</h2><table><thead><tr><th>Head{{0}}</th></tr></thead><tbody>{rows}</tbody></table>"
    tables = "".join(f'{table.format(f"-{at}-")}<div style="height: {at}mm"></div>' for at in range(40))
    pages, _ = read(print_pdf(page(tables), find_browser()))
    assert len(pages) > 5
    for at in range(40):
        begins = [{"Title", "Head", "Row0of"} & set(re.findall(rf"(\w+)-{at}-", one)) for one in pages]
        ends = [{"Row2of", "Row3of"} & set(re.findall(rf"(\w+)-{at}-", one)) for one in pages]
        assert {"Title", "Head", "Row0of"} in begins
        assert {"Row2of", "Row3of"} in ends


@pytest.mark.browser
@pytest.mark.pdftotext
def test_nothing_runs_and_nothing_is_loaded(read, tmp_path):
    (tmp_path / "style.css").write_text("p { display: none; }")
    loaded = f'<link rel="stylesheet" href="{(tmp_path / "style.css").as_uri()}">'
    script = '<script>document.querySelector("p").textContent = "It ran."</script>'
    content = page(f"{loaded}<p>As written.</p>{PIXEL}{script}").replace("<head>", '<Head class="of the page">')
    pages, sizes = read(print_pdf(content, find_browser()))
    assert pages == ["Aswritten."]
    assert sizes == [A4]
    images = subprocess.run(["pdfimages", "-list", tmp_path / "page.pdf"], capture_output=True, text=True, check=True)  # noqa: S603, S607
    assert len(images.stdout.splitlines()) == 2 + 1  # below a head of two lines


@pytest.fixture
def program(tmp_path):
    """Return a function that writes a program in the place of a browser, which may write the file to print."""

    def program(script):
        path = tmp_path / "browser"
        find_output = "for one; do case $one in --print-to-pdf=*) pdf=${one#*=}; esac; done"
        path.write_text(f"#!/bin/sh\n{find_output}\n{script}\n", encoding="utf-8")
        path.chmod(0o700)
        return find_browser(str(path))

    return program


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo first >&2; echo 'No usable sandbox!' >&2; exit 3", r"no PDF \(exit code 3\): No usable sandbox!"),
        ("exit 0", r"no PDF \(exit code 0\): no message"),
        ("printf '%%PDF-1.4 half' > $pdf", r"no PDF \(exit code 0\): no message"),
        ("printf '%%PDF-1.4 Chrome/120.0 %%%%EOF' > $pdf", "version 120, and prints no page numbers: Chromium 131 or"),
        ("printf '%%PDF-1.4 %%%%EOF' > $pdf", "of an unknown version, and prints no page numbers"),
    ],
)
def test_failed_browser_leaves_an_error_or_a_complete_pdf(program, script, message):
    with pytest.raises(PdfFailedError, match=message):
        print_pdf("<head></head>", program(script))


def test_hanging_browser_is_ended_with_its_processes(program, tmp_path):
    browser = program(f"sleep 600 & echo $! > {tmp_path / 'child'}; wait")
    with pytest.raises(JobTimedOutError, match="the browser did not print the PDF in 1 seconds"):
        print_pdf("<head></head>", browser, seconds=1)
    child = int((tmp_path / "child").read_text())
    for _ in range(100):
        with suppress(ProcessLookupError, FileNotFoundError):
            if Path(f"/proc/{child}/stat").read_text(encoding="utf-8").split()[2] != "Z":
                time.sleep(0.1)
                continue
        break
    else:
        pytest.fail("the child still runs")


FULL_DISK = """
import resource, signal, sys
from accounting_analytics.core.errors import PdfFailedError
from accounting_analytics.pack.print_pdf import print_pdf
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
try:
    print_pdf("<!doctype html><html><head></head><body>" + "<p>text</p>" * 1000 + "</body></html>", "chromium")
except PdfFailedError as error:
    print(error)
"""


@pytest.mark.browser
@pytest.mark.parametrize(
    ("most", "message"),
    [(5_000, "no PDF was printed: .* cannot be written: File too large"), (20_000, r"printed no PDF \(exit code")],
)
def test_full_temporary_folder_is_an_error_of_the_pdf(fork_server, tmp_path, most, message):
    fork_server.start(FULL_DISK, most, folder=tmp_path)
    finished = fork_server.wait()
    assert finished.returncode == 0, finished.stderr
    assert re.search(message, finished.stdout), finished.stdout


def test_page_without_a_head_is_refused_and_tokens_stay(program, tmp_path, monkeypatch):
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_TOKEN", "canary")
    browser = program(f"env > {tmp_path / 'environment'}")
    with pytest.raises(PdfFailedError, match="no PDF was printed: the page has no head"):
        print_pdf("<header></header><script></script>", browser)
    assert not (tmp_path / "environment").exists()
    with pytest.raises(PdfFailedError):
        print_pdf("<head></head>", browser)
    environment = (tmp_path / "environment").read_text(encoding="utf-8")
    assert "canary" not in environment
    assert "PATH=" in environment


def test_missing_browser_says_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        ConfigurationError, match=r"^no Chromium is on PATH, .*apt-get install chromium.* needs no browser$"
    ):
        find_browser()
    with pytest.raises(ConfigurationError, match=r"^browser is '/absent/chrome', which is not a program"):
        find_browser("/absent/chrome")
    (tmp_path / "google-chrome").touch(mode=0o700)
    assert find_browser() == str(tmp_path / "google-chrome")
