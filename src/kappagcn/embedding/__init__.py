"""Embeddings of graphs: points whose distances follow those in the graph, or whose neighbours are its neighbours."""
