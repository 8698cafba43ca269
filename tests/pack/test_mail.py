"""Mails: drafts that mail programs open, small enough to be shown whole, with everything they mention attached."""

import datetime as dt
import email
import re
from email.headerregistry import Address
from email.policy import default

import pytest
from recorded_figures import PageReader

from accounting_analytics.core.errors import InputError
from accounting_analytics.pack.pack_mail import MailBody, MailFigure, MailPicture, mail_draft, parse_address

GMAIL_CUTS_AT = 102_000
CREATED_AT = dt.datetime(2026, 6, 1, 6, 30, tzinfo=dt.UTC)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40
FINGERPRINT = "0123456789abcdef" * 4
BODY = MailBody(
    title="Harbor Lane Coffee Roasters, May 2026",
    state="proven",
    verdict="Proven: the service's report and our own calculation agree to the cent.",
    sentences=["Cash rose by 11,573.05 to 96,944.93.", "Wages & taxes: 12,754.71 more cash out than in April."],
    key_figures=[MailFigure("Cash at the end", "96,944.93", "April 85,371.88"), MailFigure("Cash out", "(98,375.47)")],
    pictures=[MailPicture("Cash by day: lowest 74,739.40", PNG), MailPicture("Why cash changed", PNG + b"2")],
    page_name="harbor-lane_2026-05.html",
    fingerprint=FINGERPRINT,
)
FILES = {"harbor-lane_2026-05.html": b"<!doctype html>" + b"\xc3\xa4" * 5000, "東京_2026-05.pdf": b"%PDF-1.7"}


def names_of(html):
    """Return the names of the elements of a page."""
    return {name for name, _ in PageReader(html).tags}


def read(content):
    """Return a mail that was read again, its plain text and its HTML."""
    message = email.message_from_bytes(content, policy=default)
    assert [part.defects for part in message.walk() if part.defects] == []
    return message, message.get_body(["plain"]).get_content(), message.get_body(["html"]).get_content()


def test_a_draft():
    """It is unsent and has no addresses; plain text and HTML say the same, and all files arrive as they were.

    Any server can send it: lines are ASCII, end in CRLF and have at most 998 characters.
    """
    content = mail_draft(BODY, FILES, created_at=CREATED_AT)
    lines = content.split(b"\r\n")
    assert b"\n" not in b"".join(lines)
    assert max(map(len, lines)) <= 998
    assert content.isascii()
    message, plain, html = read(content)
    assert dict(message.items()) | {"Content-Type": ""} == {
        "Subject": BODY.title,
        "Date": "Mon, 01 Jun 2026 06:30:00 +0000",
        "X-Unsent": "1",
        "MIME-Version": "1.0",
        "Content-Type": "",
    }
    stated = [BODY.title, BODY.verdict, *BODY.sentences, "Cash at the end", "96,944.93", "April 85,371.88"]
    stated += ["(98,375.47)", "harbor-lane_2026-05.html", FINGERPRINT, "as sha256sum prints it."]
    shown = " ".join(re.sub(r"<[^>]*>", " ", html).replace("&amp;", "&").replace("&#39;", "'").split())
    for text in (" ".join(plain.split()), shown):
        assert [one for one in stated if one not in text] == []
    attached = {part.get_filename(): part for part in message.iter_attachments()}
    assert {name: part.get_payload(decode=True) for name, part in attached.items()} == FILES
    assert attached["harbor-lane_2026-05.html"].get_content() == FILES["harbor-lane_2026-05.html"].decode()


def test_pictures_are_inside():
    """Each is a part of the HTML that it is shown in; styles are attributes, and nothing is loaded."""
    message, _, html = read(mail_draft(BODY, FILES, created_at=CREATED_AT))
    (related,) = (part for part in message.walk() if part.get_content_type() == "multipart/related")
    pictures = {part["Content-ID"]: part for part in related.iter_attachments()}
    referring = ("src", "href", "background")
    references = [value for _, attrs in PageReader(html).tags for name, value in attrs.items() if name in referring]
    assert [part.get_content() for part in pictures.values()] == [picture.png for picture in BODY.pictures]
    assert {part.get_content_disposition() for part in pictures.values()} == {"inline"}
    assert references == [f"cid:{identifier.strip('<>')}" for identifier in pictures]
    assert {"img", "table"} <= names_of(html)
    assert names_of(html) & {"style", "link", "script"} == set()


def test_the_body_is_never_cut():
    """The longest and most texts, which are all escaped, leave the body shorter than what Gmail shows."""
    long = "<b>'\n" * 50_000
    body = MailBody(
        title=long,
        state="unproven",
        verdict=long,
        sentences=[long] * 50,
        key_figures=[MailFigure(long, long, long)] * 50,
        pictures=[MailPicture(long, PNG)] * 50,
        page_name=long,
        fingerprint=long,
    )
    content = mail_draft(body, {}, created_at=CREATED_AT)
    message, plain, html = read(content)
    assert 10_000 < len(html.encode()) <= 100_000 < GMAIL_CUTS_AT
    (part,) = (part for part in message.walk() if part.get_content_type() == "text/html")
    assert len(part.get_payload().encode()) <= 100_000
    assert "b" not in names_of(html)
    assert len(plain) < GMAIL_CUTS_AT


@pytest.mark.parametrize(
    "text", ["May\r\nBcc: x@example.com", "May\nBcc: x@example.com", "May\r\n\r\nbody", "May\x00\u2028"]
)
def test_no_text_becomes_a_header(text):
    """A line break in a title or a file name adds no header and no part."""
    body = BODY._replace(title=text, page_name=text, fingerprint=text, pictures=[MailPicture(text, PNG)])
    message, _, _ = read(mail_draft(body, {}, created_at=CREATED_AT))
    assert set(message.keys()) == {"Subject", "Date", "X-Unsent", "Content-Type", "MIME-Version"}
    assert "Bcc" not in {name for part in message.walk() for name in part.keys()}  # noqa: SIM118 (a message is not a mapping)


def test_recipients():
    """Addresses that are given are those of the draft."""
    recipients = [parse_address("finance@example.com"), parse_address("a.b+c@example.org")]
    message, _, _ = read(mail_draft(BODY, {}, created_at=CREATED_AT, recipients=recipients))
    assert message["To"].addresses == (Address(addr_spec="finance@example.com"), Address(addr_spec="a.b+c@example.org"))


@pytest.mark.parametrize(
    "text",
    [
        *("", "finance", "@example.com", "finance@", "a b@c.com", "ä@b.com", "a@b@c.com"),
        *("a@b.com, c@d.com", "Finance <a@b.com>", "a@b.com\nBcc: c@d.com", "a@b.com\r\n"),
    ],
)
def test_what_is_not_an_address(text):
    """A list, a name, a line break or half of an address is refused with the value."""
    with pytest.raises(InputError, match=r"is not a mail address; write one like finance@example\.com"):
        parse_address(text)
