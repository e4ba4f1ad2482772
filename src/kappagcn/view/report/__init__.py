"""A run as one HTML page without other files: numbers, curves, and the embedding, which can be zoomed and turned."""

from kappagcn.view.report.page import write_comparison, write_report

__all__ = ["write_comparison", "write_report"]
