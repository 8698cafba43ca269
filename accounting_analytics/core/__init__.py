"""What every wing uses: money, days, tables, exact sums of line entries, sheets, files, errors."""
