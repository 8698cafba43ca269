"""Plain language: retired metaphors do not appear in the package, the notebooks or the documentation."""

import io
import json
import re
import tokenize
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent

# Each retired word, with what to write instead. Whole words; identifiers are split at "_" and at capitals.
RETIRED_WORDS = {
    "crew": "worker pool",
    "dial": "fault plan",
    "door": "request guard, authentication",
    "dust": "rounding noise",
    "dusted": "rounding_noise_removed",
    "evidence": "cached responses, proof",
    "examination": "checkup, check",
    "governor": "rate limiter",
    "knock": "first response",
    "nobody": "no user, no other process",
    "odd": "unusual, invalid",
    "oddly": "unusually",
    "outlook": "density estimate",
    "patience": "retry policy",
    "road": "network, connection, path",
    "shelf": "window files",
    "somebody": "another user, a person",
    "stamp": "load metadata, mark",
    "stamped": "marked",
    "stretch": "period, interval",
    "whoever": "the user who, any caller that",
}
RETIRED_PHRASES = {
    "a look": "a check",
    "at once": "immediately, in parallel",
    "come right": "succeed",
    "comes right": "succeeds",
    "first look": "first check",
    "front door": "request guard",
    "gave out": "stopped responding",
    "gives out": "stops responding",
    "gone meanwhile": "was removed in the meantime",
    "is no": "is not a",
    "let go": "released",
    "none of ours": "not from this service",
    "quick look": "fast check",
    "second look": "change check",
    "so far as": "where",
    "stand twice": "appear twice",
    "stands twice": "appears twice",
    "the look": "the check",
}
ORDINARY_PHRASES = re.compile(r"\b(there is no|is no longer)\b")
RETIRED_NAMES = {"look": "check, read", "said": "message, text", "told": "reported"}

# (file, word or phrase): why it stays.
ALLOWED: dict[tuple[str, str], str] = {}

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def words_of(text):
    """Return the lower-case words of a text, with identifiers split."""
    return {word.lower() for word in WORD.findall(text)}


def names_of(source):
    """Return the words of the identifiers of Python source."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {word for token in tokens if token.type == tokenize.NAME for word in words_of(token.string)}


def findings(path, text, names=frozenset()):
    """Return what is retired in a text, with the replacement; `names` are the words of its identifiers."""
    prose = ORDINARY_PHRASES.sub("", f" {' '.join(re.findall(r'[a-z]+', text.lower()))} ")
    found = {word: RETIRED_WORDS[word] for word in words_of(text) & RETIRED_WORDS.keys()}
    found |= {phrase: instead for phrase, instead in RETIRED_PHRASES.items() if f" {phrase} " in prose}
    found |= {f"name {name}": RETIRED_NAMES[name] for name in names & RETIRED_NAMES.keys()}
    return {f"{path}: {retired}": instead for retired, instead in found.items() if (path, retired) not in ALLOWED}


def package_files(room=""):
    """Return the text files of a room of the package, or of all rooms."""
    files = (PROJECT / "accounting_analytics" / room).rglob("*")
    return sorted(path for path in files if path.suffix in {".css", ".j2", ".js", ".md", ".py", ".pyi"})


def documents():
    """Return the documentation and the configuration with comments outside the package."""
    names = ("README.md", "data/README.md", "data/rules.toml", "Makefile", "pyproject.toml")
    return sorted([*map(PROJECT.joinpath, names), *(PROJECT / ".github").rglob("*.md")])


def relative(path):
    """Return the path below the project, with forward slashes."""
    return path.relative_to(PROJECT).as_posix()


ROOMS = sorted({path.relative_to(PROJECT / "accounting_analytics").parts[0] for path in package_files()})


@pytest.mark.parametrize("room", ROOMS)
def test_package_uses_plain_language(room):
    """Identifiers, docstrings, comments and messages of each room contain no retired word."""
    found = {}
    path = PROJECT / "accounting_analytics" / room
    for file in package_files(room) if path.is_dir() else [path]:
        text = file.read_text(encoding="utf-8")
        found |= findings(relative(file), text, names_of(text) if file.suffix in {".py", ".pyi"} else set())
    assert found == {}


def test_file_names_use_plain_language():
    """File and folder names of the package contain no retired word."""
    found = {}
    for path in package_files():
        name = relative(path)
        found |= findings(name, name.replace("_", " "), words_of(name))
    assert found == {}


def test_notebooks_use_plain_language():
    """Text and code cells of the notebooks contain no retired word."""
    found = {}
    for path in sorted((PROJECT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        found |= findings(relative(path), "\n\n".join("".join(cell["source"]) for cell in cells))
    assert found == {}


def test_documentation_uses_plain_language():
    """The documentation contains no retired word."""
    found = {}
    for path in documents():
        found |= findings(relative(path), path.read_text(encoding="utf-8"))
    assert found == {}


@pytest.mark.parametrize(
    "text",
    [
        "class FrontDoor",
        "the_road",
        "This is no window",
        "sent at\n    once",
        "# Somebody",
        "a quick look",
        "stands twice",
    ],
)
def test_retired_language_is_found(text):
    """Words are found in identifiers, and phrases across line breaks."""
    assert findings("text", text) != {}


@pytest.mark.parametrize(
    "text", ["timestamp", "there is no ledger", "is no longer valid", "look up", "broad", "oddments"]
)
def test_other_words_are_not_found(text):
    """Parts of words and ordinary phrases are not retired."""
    assert findings("text", text) == {}


def test_every_exception_is_needed():
    """Each allowed word still appears in its file."""
    unused = []
    for path, retired in ALLOWED:
        text = (PROJECT / path).read_text(encoding="utf-8")
        if not findings("", text, words_of(text)).keys() & {f": {retired}"}:
            unused.append((path, retired))
    assert unused == []
