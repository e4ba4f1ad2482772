"""Download of dataset files with pooch: a file appears under its name only when it is complete and verified."""

import contextlib
import hashlib
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kappagcn.errors import DownloadError, IntegrityError
from kappagcn.graphs.datasets.sources import Source
from kappagcn.progress import bar

CHUNK_SIZE = 2**16
PERMANENT = (401, 403, 404, 410)  # HTTP statuses that another attempt would not change
STALE = 24 * 3600  # seconds after which a temporary file belongs to a process that was killed


def expected_hash(source: Source) -> str:
    """The hash that the file should have, for messages."""
    return f"SHA-256 {source.sha256}" if source.sha256 else f"git blob {source.git_blob}"


def verified_bytes(path: Path, source: Source, origin: str | None = None) -> bytes:
    """The content of a file, if it has the hash of the catalogue; errors name its `origin`, or else its path."""
    content, origin = path.read_bytes(), origin or str(path)
    if not (source.sha256 or source.git_blob):
        raise IntegrityError(f"{origin}: expected a known hash to check it against, found none in the catalogue.")
    blob = b"blob %d\0" % len(content) + content
    hashes = {
        "sha256": hashlib.sha256(content).hexdigest(),
        "git_blob": hashlib.sha1(blob, usedforsecurity=False).hexdigest(),
    }
    for kind, value in hashes.items():
        expected = getattr(source, kind)
        if expected and expected != value:
            raise IntegrityError(
                f"{origin}: expected {kind} {expected}, found {value} ({len(content):,} bytes). "
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

    def download(url: str, output_file: str, _: Any) -> None:
        with bar(source.name, source.bytes, shown=progress, in_bytes=True) as advance:
            progressbar = SimpleNamespace(total=0, update=advance, close=lambda: None)
            progressbar.reset = lambda: vars(progressbar).update(update=lambda steps: None)  # or all bytes count twice
            headers = {"User-Agent": "kappagcn"}
            downloader = pooch.HTTPDownloader(progressbar, CHUNK_SIZE, timeout=timeout, headers=headers)
            try:
                downloader(url, output_file, None)
            except requests.HTTPError as error:
                if getattr(error.response, "status_code", None) in PERMANENT:
                    raise DownloadError(f"{source.url} could not be fetched ({error}).") from None
                raise
        size = Path(output_file).stat().st_size
        if source.bytes and size < source.bytes:
            raise requests.ConnectionError(f"expected {source.bytes:,} bytes, found {size:,}")
        verified_bytes(Path(output_file), source, source.url)

    try:
        return Path(cache.fetch(source.name, downloader=download))
    except requests.RequestException as error:
        cause = error.args[0] if error.args else error
        raise DownloadError(f"{source.url} could not be fetched ({getattr(cause, 'reason', cause)}).") from None
    except OSError as error:
        raise DownloadError(f"{source.name} could not be kept in {folder} ({error.strerror or error}).") from None
