"""What proposals are made of: a rules file, files of decisions, or both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import accounting_analytics as aa
from accounting_analytics.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.categorization import Decisions, Rules


@dataclass(frozen=True)
class ProposalSources:
    """Rules and decisions, which are read before anything is loaded."""

    rules: Rules | None
    decisions: tuple[Decisions, ...]

    @classmethod
    def load(cls, rules: Path | None, decisions: list[Path] | None) -> ProposalSources:
        """Read the files of the options ``--rules`` and ``--decisions``.

        Raises
        ------
        InputError
            There is none, or one cannot be used.
        """
        if rules is None and not decisions:
            msg = "give --rules FILE, or --decisions FILE (which `queue --output FILE` writes and you fill in), or both"
            raise InputError(msg)
        return cls(None if rules is None else aa.load_rules(rules), tuple(map(aa.load_decisions, decisions or [])))

    def propose(self, queue: pd.DataFrame, ledgers: pd.DataFrame) -> pd.DataFrame:
        """Proposals of the rules, replaced by those of the decisions, of which the last file wins."""
        proposals = [] if self.rules is None else [aa.propose(queue, self.rules, ledgers)]
        return aa.combine_proposals(*proposals, *(aa.decide(queue, one, ledgers) for one in self.decisions))
