"""Figures, films and HTML pages of runs; reads run folders and never trains."""
