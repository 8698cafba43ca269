"""Line entries and ledgers as frames, from a few journal entries, and what makes those of the benchmarks."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
from payment_lines import CHART, line_entries, make_chart, payments
from plain_books import books_of

import accounting_analytics as aa


@pytest.fixture(scope="session")
def builders(build):
    """Return builders of frames; tests do not modify them."""
    ledgers = make_chart(build)

    def chart(rows):
        return make_chart(build, rows)

    def queue(*rows):
        return aa.uncategorized_queue(books_of(ledgers, payments(*rows)))

    return SimpleNamespace(rows=CHART, chart=chart, lines=line_entries, payments=payments, queue=queue, ledgers=ledgers)


@pytest.fixture
def read_rules(tmp_path):
    """Return a function that loads rules from TOML text."""

    def load(text):
        file = tmp_path / "rules.toml"
        file.write_text(text, encoding="utf-8")
        return aa.load_rules(file)

    return load


BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="session")
def noisy_books():
    """Return the generator of books whose history contradicts itself."""
    return SimpleNamespace(**runpy.run_path(str(BENCHMARKS / "noisy_books.py")))


@pytest.fixture(scope="session")
def payment_frames():
    return SimpleNamespace(**runpy.run_path(str(BENCHMARKS / "payment_frames.py")))
