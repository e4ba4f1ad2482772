"""Compress the records over 100 kB in a folder: lines appended to NAME.jsonl move into NAME.jsonl.xz.

python tools/pack.py [FOLDER]
"""

from __future__ import annotations

import lzma
import sys
from pathlib import Path

LIMIT = 100_000  # bytes


def pack(path: Path) -> None:
    """Move the lines of a file into its compressed form, after those that it has."""
    packed = path.with_name(path.name + ".xz")
    before = lzma.decompress(packed.read_bytes()) if packed.exists() else b""
    text = before + path.read_bytes()
    if len(text) > LIMIT:
        packed.write_bytes(lzma.compress(text, preset=9))
        path.unlink()
        print(f"{packed}: {len(text):,} bytes in {packed.stat().st_size:,}")


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "records"
    for path in sorted(folder.glob("*.jsonl")):
        pack(path)
