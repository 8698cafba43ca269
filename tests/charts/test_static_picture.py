"""Pictures drawn without a browser: what they show, that a page can embed them, and colours that all can tell apart."""

import dataclasses
import html.parser
import itertools
import re
from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import plotly.graph_objects as go
import pytest
from chromium_and_jupyterlab import Browser
from fontTools.ttLib import TTFont
from matplotlib.font_manager import FontProperties, fontManager
from matplotlib.textpath import TextToPath

import accounting_analytics as aa
from accounting_analytics import charts
from accounting_analytics.charts import style
from accounting_analytics.core.errors import InputError

CHARTS = [charts.inflow_outflow, charts.running_balance, charts.waterfall]
SVG = "{http://www.w3.org/2000/svg}"
TEXTS_OUTSIDE = """[...document.querySelectorAll('svg')].flatMap(svg => {
  const edges = svg.getBoundingClientRect(), outside = text => {
    const box = text.getBoundingClientRect();
    return box.left < edges.left - 1 || box.right > edges.right + 1;
  };
  return [...svg.querySelectorAll('text')].filter(outside).map(text => text.textContent);
})"""
TEXTS_ON_TEXTS = """[...document.querySelectorAll('svg')].flatMap(svg => {
  const boxes = [...svg.querySelectorAll('text')].map(text => [text.textContent, text.getBoundingClientRect()]);
  const high = box => Math.min(box.height, 14) / 4; // fonts leave room above and below their letters
  const covers = (one, other) => one.left < other.right - 1 && other.left < one.right - 1
    && one.top + high(one) < other.bottom - high(other) && other.top + high(other) < one.bottom - high(one);
  return boxes.flatMap(([text, box], at) =>
    boxes.slice(at + 1).filter(([, other]) => covers(box, other)).map(([other]) => [text, other]));
})"""
COLOURS = {"ink", "muted", "rule", "ground", "inflow", "outflow", "balance"}


class Tree(html.parser.HTMLParser):
    """The elements of a page as a parser of HTML finds them, and which are left open."""

    def __init__(self, text):
        super().__init__()
        self.names, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, _):
        self.names.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def root_of(svg):
    return ET.fromstring(svg)  # noqa: S314 (our own)


def texts_of(svg):
    return [one.text for one in root_of(svg).iter(f"{SVG}text")]


def styles_of(element):
    return dict(rule.split(":") for rule in element.get("style", "").split(";") if rule)


def boxes_of(svg):
    for one in root_of(svg).iter(f"{SVG}text"):
        styles = styles_of(one)
        size = float(styles["font-size"].removesuffix("px"))
        font = FontProperties(size=size, weight=styles.get("font-weight", "normal"))
        width, _, _ = TextToPath().get_text_width_height_descent(one.text, font, ismath=False)
        left = float(one.get("x")) - {"middle": width / 2, "end": width}.get(styles.get("text-anchor"), 0)
        yield one.text, left, left + width, float(one.get("y")) - size * 0.75, float(one.get("y"))


@pytest.mark.parametrize("chart", CHARTS)
def test_the_same_figure_gives_the_same_bytes(chart, make_report, four_lines):
    drawn = {}
    for kind in ("svg", "png"):
        drawn[kind], again = (charts.static_picture(chart(make_report(four_lines)), format=kind) for _ in range(2))
        assert drawn[kind] == again
    assert charts.static_picture(chart(make_report(four_lines)), width=390) != drawn["svg"]


@pytest.fixture
def other_machine(tmp_path):
    """Make this process like one on a machine with another font and other settings of matplotlib."""
    path = tmp_path / "segoe.ttf"
    font = TTFont(f"{mpl.get_data_path()}/fonts/ttf/DejaVuSansMono.ttf")
    for number in (1, 16):
        font["name"].setName("Segoe UI", number, 3, 1, 0x409)
        font["name"].setName("Segoe UI", number, 1, 0, 0)
    font.save(path)
    fontManager.addfont(path)
    settings = {"font.family": "Segoe UI", "font.sans-serif": "Segoe UI", "legend.fontsize": 30, "figure.dpi": 50}
    with mpl.rc_context(settings | {"axes.xmargin": 0.4, "timezone": "Asia/Tokyo", "lines.antialiased": False}):
        yield
    fontManager.ttflist[:] = [one for one in fontManager.ttflist if one.fname != str(path)]


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_nothing_of_the_machine_changes_a_picture(kind, request, make_report, four_lines):
    figures = [chart(make_report(four_lines)) for chart in CHARTS]
    here = [charts.static_picture(figure, format=kind) for figure in figures]
    request.getfixturevalue("other_machine")
    assert [charts.static_picture(figure, format=kind) for figure in figures] == here


FONTS = {
    "DejaVu": [Path(mpl.get_data_path(), "fonts", "ttf")],
    "Liberation": sorted(Path("/usr/share/fonts/truetype").glob("liberation*")),
    "Noto": [Path("/usr/share/fonts/opentype/noto"), Path(mpl.get_data_path(), "fonts", "ttf")],
}


@pytest.fixture(params=FONTS)
def browser_with_fonts(request, tmp_path):
    """Return a browser that has the fonts of some folders only."""
    folders = [folder for folder in FONTS[request.param] if folder.exists()]
    if not folders or not FONTS[request.param][0].exists():
        pytest.skip(f"the fonts {request.param} are not installed")
    configuration = tmp_path / "fonts.conf"
    listed = "".join(f"<dir>{folder}</dir>" for folder in folders)
    configuration.write_text(f"<fontconfig>{listed}<cachedir>{tmp_path}</cachedir></fontconfig>", encoding="utf-8")
    browser = Browser(tmp_path / "browser", FONTCONFIG_FILE=str(configuration))
    yield browser
    browser.close()


@pytest.mark.browser
def test_texts_are_whole_in_every_font(browser_with_fonts, make_report, four_lines, tmp_path):
    large = [(f"Wages and {number} WWW 日本", f"{number - 3}23456789.01", four_lines[number][2]) for number in range(4)]
    long = [
        (f"Cost of {'very ' * 9}long name {number}", f"-{number}123456.01", four_lines[0][2]) for number in range(1, 9)
    ]
    figures = [
        chart(make_report(of, start="10.00"))
        for chart in CHARTS
        for of in (four_lines, large, large[:1], [*four_lines, *long])
    ]
    page = tmp_path / "page.html"
    figures.append(charts.inflow_outflow(make_report(four_lines, tag_ids=("t" * 300,), currency="one\x0bof two")))
    for width, window in ((360, 390), (860, 1280)):
        drawn = "".join(f"<p>{charts.static_picture(figure, width=width)}</p>" for figure in figures)
        page.write_text(f'<!DOCTYPE html><meta charset="utf-8">{drawn}', encoding="utf-8")
        browser_with_fonts.open(page.as_uri(), width=window)
        assert browser_with_fonts.evaluate(TEXTS_OUTSIDE) == []
        assert browser_with_fonts.evaluate(TEXTS_ON_TEXTS) == []
        assert browser_with_fonts.evaluate("document.querySelectorAll('svg text').length") > 100


@pytest.mark.parametrize("chart", CHARTS)
def test_svg_picture_is_one_embeddable_accessible_element(chart, make_report, four_lines):
    svg = charts.static_picture(chart(make_report([*four_lines, ("<b>&\n$x$ 日本", "5.00", four_lines[0][2])])))
    root = root_of(svg)
    assert root.tag == f"{SVG}svg"
    assert svg.startswith("<svg ")
    assert "America/New_York" in root.get("aria-label")
    parsed = Tree(f"<main>{svg}</main>")
    assert not parsed.open
    assert parsed.names == ["main", *(one.tag.removeprefix(SVG).lower() for one in root.iter())]
    assert not re.search(r"<!|<\?|<metadata|<style|matplotlib", svg)
    assert "system-ui" in root.get("font-family")
    assert all(float(text.get("textLength")) > 0 for text in root.iter(f"{SVG}text"))
    assert len(svg) < 25_000


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("width", [360, 720, 1200])
def test_texts_are_within_the_sheet_and_do_not_cover_each_other(chart, width, make_report, four_lines):
    many = [(f"{'Very long name ' * 20}{number}", f"-{number}123456.01", four_lines[0][2]) for number in range(1, 13)]
    boxes = list(boxes_of(charts.static_picture(chart(make_report([*four_lines, *many], start="1.00")), width=width)))
    for number, (text, left, right, top, bottom) in enumerate(boxes):
        assert left >= -0.5, text
        assert right <= width + 0.5, text
        for other, other_left, other_right, other_top, other_bottom in boxes[:number]:
            is_apart = right <= other_left or other_right <= left or bottom <= other_top or other_bottom <= top
            assert is_apart, (text, other)


def test_amounts_of_a_waterfall_are_those_of_the_report(make_report, four_lines):
    texts = texts_of(charts.static_picture(charts.waterfall(make_report(four_lines, start="10.00"))))
    assert texts[texts.index("Sales") + 1] == "+1,000"
    assert texts[texts.index("Rent") + 1] == "\N{MINUS SIGN}400"
    assert texts[texts.index("Start 15 Jan 2025") + 1] == "10"
    assert texts[texts.index("End 31 Mar 2025") + 1] == "610"


def test_bars_are_as_high_as_their_amounts(make_report, four_lines):
    root = root_of(charts.static_picture(charts.inflow_outflow(make_report(four_lines))))
    fills = [(one, styles_of(one).get("fill", "")) for one in root.findall(f"{SVG}path")]
    bars = [one for one, fill in fills if fill.startswith(("var(--inflow", "url"))]
    points = [re.findall(r"[ML]?(-?[\d.]+) (-?[\d.]+)", bar.get("d")) for bar in bars]
    heights = sorted(max(downs) - min(downs) for downs in ([float(down) for _, down in one] for one in points))
    assert heights[-1] / heights[-2] == pytest.approx(1000.10 / 400.00, rel=0.01)


def test_colours_are_variables_light_by_default_or_dark(make_report, four_lines):
    figure = charts.waterfall(make_report(four_lines))
    light, dark = (charts.static_picture(figure, dark=one) for one in (False, True))
    assert "var(--ink,#1b1f24)" in light
    assert "var(--ink,#e8eaed)" in dark
    assert "#1b1f24" not in dark
    for drawn in (light, dark):
        assert {"ink", "inflow", "outflow", "balance"} <= set(re.findall(r"var\(--(\w+),", drawn)) <= COLOURS


def test_one_day_and_empty_periods_have_pictures(make_report, four_lines):
    report = make_report([])
    assert "No cash moved in this period" in texts_of(charts.static_picture(charts.inflow_outflow(report)))
    day = dataclasses.replace(make_report(four_lines[2:]), period=aa.Period("2025-03-01", "2025-03-01", "UTC"))
    texts = texts_of(charts.static_picture(charts.running_balance(day)))
    assert "1 Mar" in texts
    assert f"end \N{MINUS SIGN}{Decimal('0.10')}" in texts


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "pdf"}, "format must be svg or png, not 'pdf'"),
        ({"width": 100}, "width must be a whole number of pixels from 240 to 4000, not 100"),
        ({"width": 390.0}, "width must be a whole number"),
    ],
)
def test_other_formats_and_widths_are_refused(options, message, make_report, four_lines):
    with pytest.raises(InputError, match=message):
        charts.static_picture(charts.waterfall(make_report(four_lines)), **options)
    with pytest.raises(InputError, match="pass what a function of charts returns"):
        charts.static_picture(go.Figure(go.Pie(values=[1])))
    with pytest.raises(InputError, match="figure was not made by a function of charts"):
        charts.static_picture(charts.Picture())


# what people with a deficiency see of linear red, green and blue (Machado, Oliveira and Fernandes, 2009)
VISIONS = {
    "normal": np.eye(3),
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
FLOWS = (style.INFLOW_COLOUR, style.OUTFLOW_COLOUR, style.BALANCE_COLOUR)


def linear(colour):
    """Return linear red, green and blue."""
    parts = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(light):
    """Return lightness and two axes of colour, in which distances are those that people see."""
    relative = XYZ @ np.clip(light, 0, 1) / np.array([0.9505, 1, 1.089])
    x, y, z = np.where(relative > 0.008856, np.cbrt(relative), 7.787 * relative + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one, other):
    """Return the contrast of two colours, as accessibility guidelines define it."""
    darker, lighter = sorted(linear(colour) @ XYZ[1] + 0.05 for colour in (one, other))
    return lighter / darker


@pytest.mark.parametrize("vision", VISIONS)
def test_colours_can_be_told_apart(vision):
    for group in (FLOWS, tuple(map(style.ON_DARK.get, FLOWS)), style.ACCOUNT_COLOURS):
        for pair in itertools.combinations(group, 2):
            first, second = (lab(np.array(VISIONS[vision]) @ linear(one)) for one in pair)
            assert np.linalg.norm(first - second) > 10, (vision, pair)


def test_texts_and_marks_have_contrast():
    grounds = {"light": [style.GROUND], "dark": [style.ON_DARK[style.GROUND], "#111111"]}
    for theme, grounds_of_theme in grounds.items():
        for ground in grounds_of_theme:
            for colour in (style.INK, style.MUTED):
                assert contrast(colour if theme == "light" else style.ON_DARK[colour], ground) >= 4.5
            for colour in FLOWS:
                assert contrast(colour if theme == "light" else style.ON_DARK[colour], ground) >= 3
            for colour in (*style.ACCOUNT_COLOURS, style.OTHERS_COLOUR):
                assert contrast(colour, ground) >= 3, (colour, ground)


def test_no_meaning_is_shown_by_colour_alone():
    count = len(style.ACCOUNT_COLOURS)
    assert len(set(style.PATTERNS[:count])) == len(set(style.DASHES[:count])) == count
