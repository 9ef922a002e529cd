"""Records into tables and figures.

Only `astralearn.report.figures` imports matplotlib, and only when it is used.
"""

from astralearn.report.artefacts import write_figures, write_records, write_report, write_tables
from astralearn.report.comparison import comparison_table
from astralearn.report.escape import one_line
from astralearn.report.reproduction import data_table, recommendations, results_table
from astralearn.report.tables import Cell, Table, to_csv, to_latex, to_markdown, to_rich

__all__ = [
    "Cell",
    "Table",
    "comparison_table",
    "data_table",
    "one_line",
    "recommendations",
    "results_table",
    "to_csv",
    "to_latex",
    "to_markdown",
    "to_rich",
    "write_figures",
    "write_records",
    "write_report",
    "write_tables",
]
