"""A run as one HTML page that needs nothing else: numbers, curves, and the embedding to move about in."""

from kappagcn.report.page import write_comparison, write_report

__all__ = ["write_comparison", "write_report"]
