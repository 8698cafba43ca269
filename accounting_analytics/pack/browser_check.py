"""The check that a page of a pack carries for its reader: markup, style and script, without any import."""

from __future__ import annotations

from functools import cache
from pathlib import Path


def check_section() -> str:
    """Markup of the section in which a reader checks the page, readable without scripts."""
    return _file("section.html")


def check_style() -> str:
    """Style of the section, and of figures that fail."""
    return _file("section.css")


def check_script() -> str:
    """Script of the check, for the first ``<script type="module">`` of the page."""
    return "\n".join(_file(f"{name}.js") for name in ("page_and_data", "recomputation", "checks", "section"))


@cache
def _file(name: str) -> str:
    return (Path(__file__).parent / "check_page" / name).read_text(encoding="utf-8")
