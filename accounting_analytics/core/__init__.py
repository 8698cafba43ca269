"""Money, days, tables, exact sums, files and errors, which all other packages use."""
