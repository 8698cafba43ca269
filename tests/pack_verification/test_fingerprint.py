"""Sealing a page: one written form, whatever a template writes, and no page that browsers would repair."""

import pytest

from accounting_analytics.errors import InputError
from accounting_analytics.pack_verification import seal

HEAD = '<html lang="en"><head><meta charset="utf-8"></head>'


def sealed_body(body):
    """Return the body of a sealed page without the element of its fingerprint."""
    text = seal(f'<!DOCTYPE html>{HEAD}<body><p data-field="fingerprint"></p>{body}</body></html>').text
    return text.partition("</p>")[2].removesuffix("</body>\n</html>\n")


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("<B Class=x>a</B>", '<b class="x">a</b>'),
        ("<p title='a \"b\"' id=c></p>", '<p id="c" title="a &quot;b&quot;"></p>'),
        ("<details open></details>", '<details open=""></details>'),
        ('a &amp; b &lt; &#39;c&#39; &nbsp;&eacute; > "d"', "a &amp; b &lt; 'c' \N{NO-BREAK SPACE}\xe9 &gt; \"d\""),
        ("<br/><hr>", "<br><hr>"),
        ("a<!-- b -->c", "ac"),
        ("<svg viewBox='0 0 1 1'><path d='M 0 0'/></svg>", '<svg viewbox="0 0 1 1"><path d="M 0 0"></path></svg>'),
        ("<p>a</p> \n ", "<p>a</p>"),
        ("a\r\nb\rc", "a\nb\nc"),
        (
            "<style>/* @import */ a:after { content: \"\\22 url('x')\" } b { c: url(data:x) url('#d') }</style>",
            "<style>/* @import */ a:after { content: \"\\22 url('x')\" } b { c: url(data:x) url('#d') }</style>",
        ),
        ('<script type="module">a && b < c</script>', '<script type="module">a && b < c</script>'),
    ],
)
def test_a_page_is_written_in_one_form(written, form):
    """Names, attributes, references and spaces are as the form has them, and sealing it again changes nothing."""
    assert sealed_body(written) == form
    assert sealed_body(form) == form


def test_white_space_around_head_and_body_is_that_of_the_form():
    """Browsers move or drop it, so it is always the same."""
    body = '<body><b data-field="fingerprint">{1}</b></body>'
    page = f'<!DOCTYPE html>{{0}}<html>{{0}}<head><meta charset="utf-8"></head>{{0}}{body}{{0}}</html>{{0}}'
    one, other = seal(page.format("", "")), seal(page.format("\n \n", ""))
    assert one == other
    assert one.text == page.format("\n", one.fingerprint)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("<p>", "</body> ends no open element"),
        ("</p>", "</p> ends no open element"),
        ("<div/>", "<div/> does not end the element: write <div></div>"),
        ("<b id='a' id='b'></b>", "<b> has an attribute twice"),
        ("<a><b><a></a></b></a>", "<a> cannot be in <a>"),
        ("<h2><h3></h3></h2>", "<h3> cannot be in <h2>"),
        ("<p><b><ul></ul></b></p>", "<ul> cannot be in <p>"),
        ("<table><tr></tr></table>", "<tr> cannot be in <table>"),
        ("<table><tbody>a</tbody></table>", "text cannot be in <tbody>"),
        ("<table><tbody><tr><td><td></td></td></tr></tbody></table>", "<td> cannot be in <td>"),
        ("<li></li>", "<li> cannot be in <body>"),
        ("<svg><div></div></svg>", "<div> is not an element of pictures in packs"),
        ("<svg><title><path></path></title></svg>", "<path> cannot be in <title>"),
        ("<svg><desc><image></image></desc></svg>", "<image> cannot be in <desc>"),
        ("<svg><style>a &lt; b</style></svg>", "<style> of a picture contains < or &"),
        ("<img src='https://example.com/x.png'>", "<img> loads something: its src is neither data: nor #"),
        ("<svg><use xlink:href='x.svg#a'></use></svg>", "<use> loads something"),
        ("<style>a { background: URL( 'https://example.com' ) }</style>", "a style loads something"),
        ("<style>@import 'x.css'</style>", "a style loads something"),
        ("<style>/* ' */ @import 'x.css' /* ' */</style>", "a style loads something"),
        ("<p style='background: \\75rl(x)'></p>", "a style loads something"),
        ("<b onclick='x()'></b>", "<b> has an attribute 'onclick', which packs do not have"),
        ("<form></form>", "<form> is not an element of packs"),
        ("<title></title>", "<title> cannot be in <body>"),
        ("<pre>\na</pre>", "the first newline of <pre> is not shown"),
        ("&#13;", "the control character U+000D"),
        ("<b title='\x07'></b>", "the attribute title of <b> has a control character"),
        ('<script type="module">"<!--"</script>', "<script> contains <!--, <script, </script or </style"),
        ("<script type='module' src='x'></script>", "<script> loads something"),
        ("<script type='text/javascript'></script>", 'a script that is not data is <script type="module">'),
        ("<b data-field='fingerprint'><i></i></b>", "<i> in a fingerprint"),
        ("<br data-field='fingerprint'>", "<br> cannot show the fingerprint"),
        ("</body></html><b></b>", "<b> cannot be in the document"),
    ],
)  # fmt: skip
def test_what_browsers_would_repair_is_refused_with_its_line(body, problem):
    """A page is the same document for every parser, or it is not sealed."""
    with pytest.raises(InputError) as caught:
        sealed_body(f"\n\n{body}")
    assert str(caught.value).startswith("line ")
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        (f"{HEAD}<body></body></html>", "line 1 of the page: <!DOCTYPE html> is not at the beginning"),
        (f"<!DOCTYPE html>{HEAD}</html>", "a page is <!DOCTYPE html> and html with one head and one body"),
        (f"<!DOCTYPE html>{HEAD}<body></body>", "<html> of line 1 has no end"),
        (f"<!DOCTYPE html SYSTEM 'x'>{HEAD}<body></body></html>", "instead of <!DOCTYPE html>"),
        ("<!DOCTYPE html><html><head></head><body></body></html>", '<meta charset="utf-8"> is not in the first'),
        (f"<!DOCTYPE html>a{HEAD}<body></body></html>", "text outside head and body"),
        (f"<!DOCTYPE html>{HEAD}<body></body></html>", 'no element with data-field="fingerprint"'),
    ],
)
def test_a_page_that_is_not_whole_is_refused(page, problem):
    """Document type, encoding, head, body and a place for the fingerprint have to be there."""
    with pytest.raises(InputError) as caught:
        seal(page)
    assert problem in str(caught.value)
