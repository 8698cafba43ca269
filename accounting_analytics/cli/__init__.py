"""The command line ``accounting-analytics``: one command per public operation; it parses, calls, prints.

Results go to stdout, messages to stderr. Exit codes: 0 fine; 1 the notebook or command failed; 2 bad input or
configuration; 3 the books do not tie, or the load is not complete; 4 service or authentication; 5 timed out or killed;
6 a recategorization ended with items not done or unknown.

Every command imports what it needs when it runs, so that ``--help`` stays fast.
"""

from accounting_analytics.cli.program import main

__all__ = ["main"]
