"""Text files that may be compressed: ``edges.csv.gz``, ``edges.csv.zst``, ``edges.csv.bz2``."""

from pathlib import Path

import pyarrow as pa

from kappagcn.errors import GraphError
from kappagcn.graphs.io.undirected import name_source_in_errors

__all__ = ["compressed", "ending_of", "is_compressed", "read_content", "stem_of"]

CODECS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
UNPACKED_LIMIT = 16 * 2**30  # bytes that a compressed file may unpack to
BLOCK = 2**26


def is_compressed(path: Path) -> bool:
    """Whether a file has the ending of a compressed file."""
    return path.suffix.lower() in CODECS


def ending_of(path: Path) -> str:
    """The ending that determines the format: ``.csv`` for ``edges.csv.gz``."""
    return (Path(path.stem) if is_compressed(path) else path).suffix.lower()


def stem_of(path: Path) -> str:
    """The name of a file without its endings: ``edges`` for ``edges.csv.gz``."""
    return Path(path.stem).stem if is_compressed(path) else path.stem


def read_content(path: Path) -> bytes:
    """The bytes of a file, unpacked if it has the ending of a compressed file."""
    with name_source_in_errors(path):
        if not is_compressed(path):
            return path.read_bytes()
        blocks, size = [], 0
        with pa.input_stream(str(path), compression=CODECS[path.suffix.lower()]) as stream:
            while block := stream.read(BLOCK):
                blocks.append(block)
                size += len(block)
                if size > UNPACKED_LIMIT:
                    raise GraphError(f"expected a file that unpacks to at most {UNPACKED_LIMIT:,} bytes, found more.")
        return b"".join(blocks)


def compressed(content: bytes, path: Path) -> bytes:
    """Content, compressed if the ending of a path requires it."""
    if not is_compressed(path):
        return content
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, CODECS[path.suffix.lower()]) as stream:
        stream.write(content)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed
