"""Entry point of ``python -m kappagcn`` and of the script ``kappagcn``."""

from kappagcn.cli import app
from kappagcn.cli.startup import defer_imports

__all__ = ["app"]

defer_imports()

if __name__ == "__main__":
    app()
