"""Money, days, tables, exact sums, files and errors, which every wing uses."""
