"""Loops over many rows or pairs, compiled by numba, which nothing else imports."""
