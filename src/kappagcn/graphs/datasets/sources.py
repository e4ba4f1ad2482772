"""The catalogue of datasets: for each its size, and the addresses and hashes of its files; their download with pooch.

A file appears under its name only when it is complete and verified.
"""

import contextlib
import difflib
import hashlib
import json
import sys
import time
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from kappagcn.errors import DownloadError, GraphError, IntegrityError

CHUNK_SIZE = 2**16
PERMANENT = (401, 403, 404, 410)  # HTTP statuses that another attempt would not change
STALE = 24 * 3600  # seconds after which a temporary file belongs to a process that was killed


@dataclass(frozen=True)
class Source:
    """A file at its public source. The git blob id is SHA-1 over git's header and the content."""

    name: str
    url: str
    bytes: int | None
    sha256: str | None
    git_blob: str | None


@dataclass(frozen=True)
class Entry:
    """A dataset."""

    name: str
    title: str
    nodes: int  # number of nodes of the whole graph
    edges: int  # number of undirected edges of the whole graph, without self-loops
    features: int  # number of features, 0 for none
    classes: int  # number of classes, 0 for none
    repositories: tuple[str, ...]  # projects that publish the files
    sha256: str  # SHA-256 of the npz form, <name>.npz
    reader: str  # reader of the original files, in raw_formats
    largest: bool  # whether the literature uses the largest component only
    split: str  # name of the usual split
    sources: tuple[tuple[Source, ...], ...]  # alternatives; each is a list of files that together hold the dataset

    @property
    def pickled(self) -> bool:
        """Whether the originals are pickles, which are converted once and not read here."""
        return self.reader in ("planetoid", "airport")


@cache
def catalogue() -> dict[str, Entry]:
    """All datasets by name.

    >>> catalogue()["cora_ml"].classes
    7
    """
    text = resources.files("kappagcn.graphs.datasets").joinpath("sources.json").read_text(encoding="utf-8")
    entries = {}
    for name, fields in json.loads(text).items():
        fields["sources"] = tuple(tuple(Source(**file) for file in files) for files in fields["sources"])
        entries[name] = Entry(name=name, **fields)
    return entries


def find_entry(name: str) -> Entry:
    """The dataset with this name; the error for an unknown name suggests others."""
    if name not in catalogue():
        hint = suggestion(name, catalogue())
        raise GraphError(f"expected the name of a dataset, found {name!r}. {hint} load_graph has other graphs too.")
    return catalogue()[name]


def suggestion(name: str, names: Collection[str]) -> str:
    """A sentence with the names most similar to an unknown one, or with all names."""
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return f"Did you mean {' or '.join(close)}?" if close else f"There are {', '.join(names)}."


def expected_hash(source: Source) -> str:
    """The hash that the file should have, for messages."""
    return f"SHA-256 {source.sha256}" if source.sha256 else f"git blob {source.git_blob}"


def verified_bytes(path: Path, source: Source, origin: str | None = None) -> bytes:
    """The content of a file, if it has the hash of the catalogue; errors name its `origin`, or else its path."""
    content, origin = path.read_bytes(), origin or str(path)
    value = hashlib.sha256(content).hexdigest()
    if source.sha256 is None:
        blob = b"blob %d\0" % len(content) + content
        value = hashlib.sha1(blob, usedforsecurity=False).hexdigest()
    if value != (source.sha256 or source.git_blob):
        raise IntegrityError(
            f"{origin}: expected {expected_hash(source)}, found {value} ({len(content):,} bytes). "
            "It was not read; remove it, or put the right file in its place."
        )
    return content


def fetch(source: Source, folder: Path, *, timeout: float = 30.0, retries: int = 2, progress: bool = True) -> Path:
    """Download a file into a folder, unless it is there with the right SHA-256.

    An attempt is given up after `timeout` seconds without an answer; `retries` more are made if the connection fails.
    """
    import pooch
    import requests

    if not source.url.startswith(("https://", "http://")):
        raise DownloadError(f"{source.name}: expected an http address, found {source.url!r}.")
    for path in folder.glob("tmp????????"):
        with contextlib.suppress(OSError):  # another process may have removed it first
            if time.time() - path.stat().st_mtime > STALE:
                path.unlink()
    if not source.sha256:
        (folder / source.name).unlink(missing_ok=True)  # pooch knows no git blobs and would keep it
    pooch.get_logger().setLevel("WARNING")
    registry = {source.name: source.sha256 and f"sha256:{source.sha256}"}
    cache = pooch.Pooch(folder, "", registry, {source.name: source.url}, retry_if_failed=retries)
    shown = progress and sys.stderr.isatty()
    downloader = pooch.HTTPDownloader(shown, CHUNK_SIZE, timeout=timeout, headers={"User-Agent": "kappagcn"})

    def download(url: str, output_file: str, caller: pooch.Pooch) -> None:
        try:
            downloader(url, output_file, caller)
        except requests.HTTPError as error:
            if getattr(error.response, "status_code", None) in PERMANENT:
                raise DownloadError(f"{url} could not be fetched ({error}).") from None
            raise
        if not source.sha256:
            verified_bytes(Path(output_file), source, url)

    try:
        return Path(cache.fetch(source.name, downloader=download))
    except requests.RequestException as error:
        cause = error.args[0] if error.args else error
        raise DownloadError(f"{source.url} could not be fetched ({getattr(cause, 'reason', cause)}).") from None
    except OSError as error:
        raise DownloadError(f"{source.name} could not be kept in {folder} ({error.strerror or error}).") from None
    except IntegrityError:
        raise
    except ValueError as error:  # pooch found another hash
        raise IntegrityError(f"{source.url}: {error}") from None
