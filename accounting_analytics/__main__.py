"""``python -m accounting_analytics`` is the command ``accounting-analytics``."""

from accounting_analytics.cli import main

if __name__ == "__main__":
    main()
