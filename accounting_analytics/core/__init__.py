"""Money, days, tables, exact sums, sheets, files and errors, which every wing uses."""
