"""Entry point of ``python -m kappagcn`` and of the script ``kappagcn``."""

import sys

import kappagcn.estimators
from kappagcn.cli import app
from kappagcn.cli.startup import collect_rarely, defer_imports, trains

__all__ = ["app"]

kappagcn.estimators.WITH_SKLEARN = False  # takes a second to import, and no command needs it
collect_rarely()
defer_imports(training=trains(sys.argv[1:]))

if __name__ == "__main__":
    app()
