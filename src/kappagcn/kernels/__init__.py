"""Compiled loops over many rows or pairs, and the threads that they run in; numba is known here alone."""
