"""The mail that sends a pack: a draft with its sentences, key figures and pictures, and its files attached."""

from __future__ import annotations

import mimetypes
import textwrap
from email.errors import HeaderParseError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jinja2

from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import printable, quote, shorten

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping, Sequence

_LONGEST, _LONGEST_VERDICT, _LONGEST_PART = 500, 1_000, 200
"""Characters of a text: with at most 12 key figures and 3 pictures the body stays below the 102 KB that Gmail shows."""
_MOST_SENTENCES, _MOST_KEY_FIGURES, _MOST_PICTURES = 6, 12, 3
_WIDTH = 76
_HOW_TO_CHECK = (
    'Open the page in a browser and press "Check this page", or run accounting-analytics verify-pack with the page and '
    "this fingerprint: both calculate every figure again from the entries inside, and show whether the file is the one "
    "that was sent. The fingerprint is its SHA-256, as sha256sum prints it."
)
_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)


class MailFigure(NamedTuple):
    """A key figure: its label, its amount, and what it is compared with, as they are shown."""

    label: str
    amount: str
    note: str = ""


class MailPicture(NamedTuple):
    """A picture as PNG, at most 600 pixels wide where it is shown, and what it says in words."""

    text: str
    png: bytes


class MailBody(NamedTuple):
    """What a mail says about a pack."""

    title: str
    state: str
    verdict: str
    sentences: Sequence[str]
    key_figures: Sequence[MailFigure]
    pictures: Sequence[MailPicture]
    page_name: str
    fingerprint: str
    note: str = ""
    note_html: str = ""


def mail_draft(
    body: MailBody, attachments: Mapping[str, bytes], *, created_at: dt.datetime, recipients: Sequence[Address] = ()
) -> bytes:
    """Mail that opens as a draft: body as HTML and as plain text, pictures inside, files by name attached."""
    body = _shortened(body)
    pictures = {f"picture-{at}@accounting-analytics": picture for at, picture in enumerate(body.pictures, 1)}
    message = EmailMessage(policy=SMTP)
    message["Subject"] = body.title
    message["Date"] = created_at
    message["X-Unsent"] = "1"
    if recipients:
        message["To"] = recipients
    message.set_content(_plain_text(body), cte="quoted-printable")
    html = _TEMPLATES.get_template("mail.html.j2").render(body=body, pictures=pictures, how_to_check=_HOW_TO_CHECK)
    message.add_alternative(html, subtype="html", cte="quoted-printable")
    related: Any = message.get_body(["html"])
    for identifier, picture in pictures.items():
        related.add_related(picture.png, "image", "png", cid=f"<{identifier}>", disposition="inline")
    for name, content in attachments.items():
        kind, _, subtype = (mimetypes.guess_type(name)[0] or "application/octet-stream").partition("/")
        charset = {"charset": "utf-8"} if kind == "text" else None
        message.add_attachment(content, kind, subtype, filename=name, params=charset)
    return message.as_bytes()


def parse_address(text: str) -> Address:
    """Mail address of a recipient, without a name."""
    try:
        address = Address(addr_spec=text)
    except (HeaderParseError, ValueError, IndexError):
        address = Address()
    if not (
        text.isascii() and text.isprintable() and address.username and address.domain and address.addr_spec == text
    ):
        raise InputError(f"{quote(text)} is not a mail address; write one like finance@example.com, without a name")
    return address


def _shortened(body: MailBody) -> MailBody:
    """Body with a limited number of texts, each on one line and of limited length."""
    return MailBody(
        _line(body.title),
        body.state,
        _line(body.verdict, _LONGEST_VERDICT),
        [_line(sentence) for sentence in body.sentences[:_MOST_SENTENCES]],
        [
            MailFigure(*(_line(part, _LONGEST_PART) for part in figure))
            for figure in body.key_figures[:_MOST_KEY_FIGURES]
        ],
        [MailPicture(_line(picture.text), picture.png) for picture in body.pictures[:_MOST_PICTURES]],
        _line(body.page_name),
        _line(body.fingerprint),
        body.note,
        body.note_html,
    )


def _line(text: str, limit: int = _LONGEST) -> str:
    return shorten(printable(text, " "), limit=limit)


def _plain_text(body: MailBody) -> str:
    """Body as plain text."""
    label_width = max((len(figure.label) for figure in body.key_figures), default=0)
    amount_width = max((len(figure.amount) for figure in body.key_figures), default=0)
    figures = []
    for one in body.key_figures:
        figures.append(f"{one.label:<{label_width}}  {one.amount:>{amount_width}}")
        if one.note:
            figures.append(f"  {one.note}")
    parts = [
        [body.title, body.verdict],
        ["Note of the owner:", *printable_lines(body.note)] if body.note else [],
        [f"- {sentence}" for sentence in body.sentences],
        figures,
        [f"Attached: {body.page_name}", f"Its fingerprint: {body.fingerprint}", _HOW_TO_CHECK],
    ]
    return "\n\n".join("\n".join(map(_wrap, part)) for part in parts if part) + "\n"


def printable_lines(text: str) -> list[str]:
    """Lines of a text without control characters."""
    return [printable(one, " ") for one in text.splitlines()]


def _wrap(line: str) -> str:
    indent = "  " if line.startswith(("- ", "  ")) else ""
    return textwrap.fill(line, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
