"""Merchants: the examples of each step, noisy texts of known merchants, texts of the demo company."""

from collections import defaultdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import accounting_analytics as aa
from accounting_analytics.reports.merchants import STEPS, apply_step, merchants


@pytest.mark.parametrize(("step", "before", "after"), [(step, *example) for step in STEPS for example in step.examples])
def test_examples_of_the_steps(step, before, after):
    """Each step changes its examples as it states; the last example of most is a name that it must not touch."""
    assert apply_step(step, pa.array([before])).to_pylist() == [after]


@pytest.mark.parametrize("seed", range(5))
def test_noisy_texts_of_known_merchants_meet(seed, statement_texts):
    """No two merchants get one name, and at most two of 72 have more than one."""
    texts = statement_texts(seed)
    names, true_names = defaultdict(set), defaultdict(set)
    for (_, merchant), name in zip(texts, merchants([text for text, _ in texts]), strict=True):
        names[merchant].add(name)
        true_names[name].add(merchant)
    assert [found for found in true_names.values() if len(found) > 1] == []
    assert len(names) == 72
    assert sum(len(found) > 1 for found in names.values()) <= 2


def test_texts_of_the_demo_company_meet():
    """Of nearly three thousand different texts of bank and card two hundred names remain."""
    database = pq.read_table(Path(aa.__file__).parent / "demo_company" / "line_entries.parquet")
    texts = database["transaction_description"].drop_null().unique().to_pylist()
    assert len(texts) > 2_500
    assert len(set(merchants(texts))) < 200


@pytest.mark.parametrize("text", ["", "12345", "#0412", "2026-01-31", "***", "SQ *", "CHECK 1043", "CHECK #1043"])
def test_a_text_without_a_name_is_kept(text):
    """Where no letter would remain, the description itself is the name; so it is for a check, which shows no payee."""
    assert merchants([text, f"  {text.lower()}  "]) == [text, text]


def test_case_and_spaces_do_not_matter():
    """Texts in other case and with other spaces meet; accents and other scripts stay."""
    assert merchants(["Café  Élan #123", "CAFÉ ÉLAN", "喫茶店 1234", ""]) == ["CAFÉ ÉLAN", "CAFÉ ÉLAN", "喫茶店", ""]
