"""Download of dataset files with pooch: a file appears under its name only when it is complete and verified."""

import contextlib
import hashlib
import sys
import time
from pathlib import Path

from kappagcn.errors import DownloadError, IntegrityError
from kappagcn.graphs.datasets.sources import Source

CHUNK_SIZE = 2**16
PERMANENT = (401, 403, 404, 410)  # HTTP statuses that another attempt would not change
STALE = 24 * 3600  # seconds after which a temporary file belongs to a process that was killed


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
