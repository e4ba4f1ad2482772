"""``python -m kappagcn``."""

from kappagcn.cli import app

app()
