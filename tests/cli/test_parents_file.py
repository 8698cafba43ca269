"""Parents of ledgers from a file: a sheet, and what is refused with its row."""

import pytest

from accounting_analytics.cli.loading import read_parents
from accounting_analytics.core.errors import InputError

PARENTS = {"led_1": "led_2", "led_2": None}


@pytest.mark.parametrize(
    "content",
    [
        '\ufeffledger_id, parent_id\r\n"led_1", led_2 \r\n\r\nled_2,',
        "name;PARENT_ID;ledger_id\nBank;led_2;led_1\nAssets;;led_2\n",
    ],
    ids=["excel", "columns of a spreadsheet"],
)
def test_parents(tmp_path, content):
    """A CSV file gives the parents, also as spreadsheets write it."""
    (tmp_path / "parents.csv").write_text(content, encoding="utf-8")
    assert read_parents(tmp_path / "parents.csv") == PARENTS


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,parent\na,b\n", "the first row lacks ledger_id, parent_id; it has 2 other columns, first 'id'"),
        ("ledger_id,parent_id\n,b\n", "row 2: ledger_id: the cell is empty"),
        ("ledger_id,parent_id\na,b\n\na,c\n", "row 4: ledger 'a' occurs more than once"),
        ("ledger_id,parent_id\na,a\n", "row 2: ledger 'a' is its own parent"),
    ],
)
def test_refused(tmp_path, content, message):
    """A file of another form is refused with its name, the row or ledger, and the form expected."""
    (tmp_path / "p.csv").write_text(content, encoding="utf-8")
    form = "expected is a CSV file or an Excel workbook with the columns ledger_id and parent_id"
    with pytest.raises(InputError) as refused:
        read_parents(tmp_path / "p.csv")
    assert str(refused.value).startswith("--parents: ")
    assert all(text in str(refused.value) for text in ("p.csv", message, form))


@pytest.mark.parametrize("name", ["missing.csv", "."])
def test_no_such_file(tmp_path, name):
    """A file that does not exist and a folder are refused."""
    with pytest.raises(InputError, match="--parents"):
        read_parents(tmp_path / name)
