"""The page of a pack: its sections rendered from templates, and its data."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import pandas as pd
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from accounting_analytics.charts.picture import PICTURE_STYLE
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import did_you_mean, printable, quote
from accounting_analytics.core.periods import day_label
from accounting_analytics.core.text_and_html_tables import html_table
from accounting_analytics.core.version import __version__
from accounting_analytics.pack.pack_pictures import NARROW, WIDE
from accounting_analytics.pack.pack_sentences import Amount
from accounting_analytics.pack.page_format import pack_data
from accounting_analytics.reports.figures.figure_table import (
    figure_table_script,
    figure_table_style,
    shared_figure_table_html,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from accounting_analytics.pack.pack_result import MonthlyPack
    from accounting_analytics.pack.pack_sentences import Sentence

SECTIONS = (
    "summary",
    "income_statement",
    "budget",
    "twelve_months",
    "cash_flow_statement",
    "balance_sheet",
    "key_ratios",
    "cash_bridge",
    "balances",
    "payees",
    "recurring",
    "outlook",
    "ageing",
    "uncategorized",
    "coding",
    "changes",
    "certificate",
    "reconciliation",
    "assumptions",
)
"""The sections of a pack in their order."""
_FOLDER = Path(__file__).parent
_HEADING = re.compile(r'<section id="([\w-]+)">\s*<h2>(.*?)</h2>')
"""Id and heading of a section that the table of contents lists."""
_IN_CSS_TEXT = str.maketrans({character: f"\\{ord(character):x} " for character in "\\\"'<>&\n"})


def page_environment(templates: Path | None) -> jinja2.Environment:
    """Load the templates. A file with the same path in the folder `templates` replaces a template."""
    folders = [*([] if templates is None else [templates]), _FOLDER / "templates"]
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def check_sections(sections: Iterable[str] | None, environment: jinja2.Environment) -> tuple[str, ...]:
    """Return the names of the shown sections. Refuse a section without a template."""
    templates = environment.list_templates(filter_func=lambda name: name.startswith("sections/"))
    known = {Path(template).name.removesuffix(".html.j2") for template in templates}
    asked = SECTIONS if sections is None else sections
    names = tuple(name if name in known else str(name).replace("-", "_") for name in asked)
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"there are {', '.join(sorted(known))}"
            raise InputError(f"sections: {quote(name)} is unknown; {hint}")
    if not names:
        raise InputError("sections is empty; name at least one, or leave it out for all")
    return names


def render_page(environment: jinja2.Environment, pack: MonthlyPack) -> str:
    """Render the whole page."""
    page = PackPage(pack)
    context: dict[str, Any] = {
        "pack": pack,
        "version": __version__,
        "day": day_label,
        "has_table": lambda name: name in pack.content.tables,
        **page.functions(),
    }
    rendered = [environment.get_template(_section_file(name)).render(context) for name in pack.section_names]
    if not page.shows_figures:
        raise InputError(
            f"sections: {', '.join(pack.section_names)} shows no figure, so its receiver could check nothing; add a "
            "section with figures, such as summary"
        )
    headings = (_HEADING.search(section) for section in rendered)
    contents = [(found[1], Markup(found[2])) for found in headings if found]  # noqa: S704 (rendered with escapes)
    sections = [Markup(section) for section in rendered]  # noqa: S704 (rendered with escapes)
    return environment.get_template("monthly_pack.html.j2").render(context, sections=sections, contents=contents)


def _section_file(name: str) -> str:
    return f"sections/{name}.html.j2"


class PackPage:
    """Functions for templates, and the data of the tables that the templates have shown."""

    def __init__(self, pack: MonthlyPack) -> None:
        self._pack = pack
        self._shown: dict[str, set[str]] = defaultdict(set)

    @property
    def shows_figures(self) -> bool:
        """True if the rendered sections have a figure."""
        return any(self._shown.values())

    def functions(self) -> Mapping[str, Callable[..., Any]]:
        """Return the functions of templates by name."""
        return {
            "table": self.table,
            "title": lambda name: self._pack.content.tables[name].table.title,
            "amounts": self.amounts,
            "note": lambda: note_markup(self._pack.note or ""),
            "picture": self.picture,
            "code": self.code,
            "styles": self.styles,
            "data": self.data,
            "scripts": self.scripts,
            "checks_table": self.checks_table,
            "verdicts_table": self.verdicts_table,
        }

    def table(self, name: str) -> Markup:
        """Return a table of figures, which unfold."""
        table = self._pack.content.tables[name]
        self._shown[name] |= {key for key, _ in table.shown()}
        return Markup(shared_figure_table_html(table.table, name))  # noqa: S704 (escaped there)

    def amounts(self, sentence: Sentence) -> Markup:
        """Return a sentence whose amounts are figures."""
        return Markup("").join(self._amount(part) if isinstance(part, Amount) else _typed(part) for part in sentence)

    def _amount(self, amount: Amount) -> Markup:
        self._shown[amount.table].add(amount.key)
        form = Markup(' data-form="magnitude"') if amount.is_size else ""
        return Markup('<span data-table="{}" data-key="{}"{}>{}</span>').format(
            amount.table, amount.key, form, amount.text
        )

    def picture(self, name: str) -> Markup:
        """Return the picture of a section, wide and narrow, or nothing if it has no picture."""
        found = self._pack.content.pictures.get(name)
        if found is None:
            return Markup("")
        wide, narrow = (Markup(found.svg(width)) for width in (WIDE, NARROW))  # noqa: S704 (escaped there)
        return Markup(
            '<figure class="picture"><div class="wide">{}</div><div class="narrow">{}</div>'
            "<figcaption data-text>{}</figcaption></figure>"
        ).format(wide, narrow, found.text)

    def code(self, name: str) -> Markup:
        """Return the Python call that makes the same result, if the page shows code."""
        text = self._pack.calls.get(name, "")
        return Markup("<pre><code>{}</code></pre>").format(text) if text and self._pack.show_code else Markup("")

    def checks_table(self) -> Markup:
        """Return a table of the certificate's checks."""
        columns = ["check", "checked", "failed", "not checked because"]
        rows = [(check.what, check.checked, check.failed, check.note) for check in self._pack.certificate.checks]
        return _plain_table(pd.DataFrame(rows, columns=columns))

    def verdicts_table(self) -> Markup:
        """Return a table of what the comparison of each period found."""
        rows = [
            (period.label, "agrees" if period.ties else "DIFFERS", period.verdict)
            for period in self._pack.compared.values()
        ]
        return _plain_table(pd.DataFrame(rows, columns=["period", "result", "comparison"]))

    def styles(self) -> Markup:
        """Return the styles of the page, of its tables, and for paper."""
        heading = ", ".join(filter(None, [self._pack.company, self._pack.period_label]))
        variable = f':root {{ --print-heading: "{printable(heading).translate(_IN_CSS_TEXT)}"; }}\n'
        own = "".join((_FOLDER / name).read_text(encoding="utf-8") for name in ("pack.css", "print.css"))
        return Markup(f"{figure_table_style()}<style>\n{variable}{own}{PICTURE_STYLE}\n</style>")  # noqa: S704 (escaped above)

    def scripts(self) -> Markup:
        """Return the scripts that recalculate and unfold figures of the page."""
        own = (_FOLDER / "page_figures.js").read_text(encoding="utf-8")
        made = (f'<script type="module">\n{script}</script>' for script in (own, figure_table_script()))
        return Markup("\n").join(map(Markup, made))

    def data(self) -> Markup:
        """Return the facts, lines and figures of the page as a data element."""
        pack, content = self._pack, self._pack.content
        facts = {
            "format": 1,
            "company": printable(pack.company or ""),
            "currency": printable(pack.currency or ""),
            "amounts_in": pack.unit_name,
            "scale": content.entries.scale,
            "start_date": str(pack.period.start_date),
            "end_date": str(pack.period.end_date),
            "time_zone": pack.period.time_zone,
            "created_at": pack.created_at,
            "verdict": pack.proof,
        }
        tables = {
            name: content.entries.table_content(content.tables[name], shown) for name, shown in self._shown.items()
        }
        return Markup(pack_data({**facts, **content.entries.content(), "tables": tables}))  # noqa: S704 (escaped there)


@cache
def _markdown() -> MarkdownIt:
    """Make a Markdown parser that allows no links, pictures or HTML."""
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(["link", "image", "autolink", "reference"])


def note_markup(text: str) -> Markup:
    """Render a note of the owner, written in Markdown."""
    return Markup(_markdown().render(text))  # noqa: S704 (escaped there)


def _plain_table(frame: pd.DataFrame) -> Markup:
    return Markup(f'<div class="plain" data-text>{html_table(frame)}</div>')  # noqa: S704 (escaped there)


def _typed(text: str) -> Markup:
    """Mark a text with names that people typed.

    The names are of payees and ledgers.
    """
    return Markup("<span data-text>{}</span>").format(escape(text))
