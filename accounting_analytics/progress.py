"""Progress of long work: a bar in a terminal or in JupyterLab, silence in batch."""

from __future__ import annotations

import os
import sys
from typing import Any

from IPython import get_ipython
from tqdm.auto import tqdm

BATCH_VARIABLE = "ACCOUNTING_ANALYTICS_BATCH"
"""Set to 1 where notebooks run unattended."""


def progress_bar(progress: bool | None, **options: Any) -> tqdm[Any]:  # noqa: ANN401, FBT001 (tqdm's own options)
    """Bar of some work; a silent one unless `progress` is True, or None and somebody is watching."""
    return tqdm(disable=not (_watched() if progress is None else progress), leave=False, **options)


def _watched() -> bool:
    """Whether there is a terminal, or a notebook that is not run in batch."""
    if os.environ.get(BATCH_VARIABLE) == "1":
        return False
    return sys.stderr.isatty() or hasattr(get_ipython(), "kernel")
