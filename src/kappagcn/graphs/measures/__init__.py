"""Measurements of graphs: shortest paths, curvature, hyperbolicity, statistics, and advice on the space to use."""
