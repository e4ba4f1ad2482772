"""``python -m kappagcn``."""

import kappagcn.estimators
from kappagcn.cli import app

kappagcn.estimators.WITH_SKLEARN = False  # takes a second to import, and no command needs it

if __name__ == "__main__":
    app()
