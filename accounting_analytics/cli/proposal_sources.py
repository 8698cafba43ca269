"""What the commands `propose` and `plan` share: rules and decisions, and the proposals they make for a loaded queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import accounting_analytics as aa
from accounting_analytics.cli.discover_and_load import LoadOptions, load_queue
from accounting_analytics.cli.output import print_notes
from accounting_analytics.cli.transaction_tables import print_transactions, with_short_reasons
from accounting_analytics.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.categorization import Rules
    from accounting_analytics.client import LedgerClient

_COLUMNS = {
    "description": "description",
    "amount": "amount",
    "updated_category_ledger_name": "new category",
    "rule": "rule",
    "transaction_id": "transaction_id",
}


class ProposalSources(NamedTuple):
    """Rules and files of decisions, which are read before anything is loaded."""

    rules: Rules | None
    decisions: list[Path]

    @classmethod
    def load(cls, rules: Path | None, decisions: list[Path] | None) -> ProposalSources:
        """Read the files of the options ``--rules`` and ``--decisions``.

        Raises
        ------
        InputError
            There is none, or one cannot be used.
        """
        from accounting_analytics.categorization.decision_file import read_decisions

        if rules is None and not decisions:
            msg = "give --rules FILE, or --decisions FILE (which `queue --output FILE` writes and you fill in), or both"
            raise InputError(msg)
        for file in decisions or []:
            read_decisions(file)
        return cls(None if rules is None else aa.load_rules(rules), decisions or [])

    def propose(self, client: LedgerClient, days: tuple[str, str, str], options: LoadOptions) -> LoadedProposals:
        """Load the queue of a period, and propose what rules and then decisions give, of which the last file wins."""
        ledgers, queue = load_queue(client, days, options)
        proposals = aa.propose(queue, self.rules, ledgers, decisions=self.decisions)
        print_notes(proposals)
        return LoadedProposals(ledgers, queue, proposals)


class LoadedProposals(NamedTuple):
    """Proposals, and the chart of accounts and queue that they were made for."""

    ledgers: pd.DataFrame
    queue: pd.DataFrame
    proposals: pd.DataFrame


def print_proposals(rows: pd.DataFrame, *, summary: str, time_zone: str, limit: int | None) -> None:
    """Print proposals, or items of a plan, with their new categories and what gives them."""
    print_transactions(with_short_reasons(rows), _COLUMNS, summary=summary, time_zone=time_zone, limit=limit)
