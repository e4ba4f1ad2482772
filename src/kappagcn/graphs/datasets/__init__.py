"""Graphs by name: generated ones and published datasets, their download, formats, preparation and splits."""
