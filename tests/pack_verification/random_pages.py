"""Random pages of the elements that packs may have, nested as the rules allow."""

import random
from html import escape

from accounting_analytics.pack_verification.element_rules import _HTML, _SVG, RAW, VOID, refuse_element, refuse_text

TEXTS = ("a", " ", "\n", 'b & <c> "d"', "\N{NO-BREAK SPACE}", "\U0001f600", "&amp;", " x ")
ATTRIBUTES = ("id", "class", "title", "viewBox", "preserveAspectRatio", "xlink:href", "xml:space", "xmlns", "data-x")
STRUCTURES = (
    "table",
    "tbody",
    "tr",
    "td",
    "p",
    "div",
    "svg",
    "details",
    "ul",
    "li",
    "a",
    "span",
    "h2",
    "button",
    "pre",
)
HEAD = '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"></head>'


def random_page(seed):
    """Return a page that is the same for each seed, before it is sealed; a few have a `pre` that is refused."""
    chance = random.Random(seed)  # noqa: S311 (the same pages in each run)
    content = random_content(chance, chance.randint(3, 6), ["html", "body"])
    return f'{HEAD}<body><b data-field="fingerprint"></b>{content}</body></html>'


def random_content(chance, depth, ancestors):
    """Return text and elements that may be in others."""
    pieces = []
    for _ in range(chance.randint(1, 5)):
        allowed = [name for name in sorted(_SVG | _HTML) if not refuse_element(name, ancestors)]
        if not depth or not allowed or chance.random() < 0.4:
            text = chance.choice(TEXTS)
            pieces.append(" " if refuse_text(ancestors) else escape(text))
        else:
            structures = [name for name in STRUCTURES if name in allowed]
            name = chance.choice(structures if structures and chance.random() < 0.4 else allowed)
            pieces.append(random_element(chance, name, depth, ancestors))
    return "".join(pieces)


def random_element(chance, name, depth, ancestors):
    """Return an element with attributes and content."""
    names = ["type"] if name == "script" else chance.sample(ATTRIBUTES, chance.randint(0, 2))
    fixed = {"type": "text/plain", "xlink:href": "#a"}
    values = {key: fixed.get(key) or escape(chance.choice(TEXTS)) for key in names}
    written = "".join(f' {key}="{value}"' for key, value in values.items())
    start = f"<{name}{written}>"
    if name in VOID:
        return start
    content = "*{}" if name in RAW else random_content(chance, depth - 1, [*ancestors, name])
    return f"{start}{content}</{name}>"
