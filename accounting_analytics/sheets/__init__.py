"""Sheets of CSV files and Excel workbooks that people edit: their rows, the values of cells, new workbooks."""
