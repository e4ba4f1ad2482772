"""Files from their public sources: fetched whole or not at all, and checked before anything reads them."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import time
import urllib.error
import urllib.request
from pathlib import Path

from kappagcn.errors import DownloadError, IntegrityError
from kappagcn.graphs.datasets.sources import Source
from kappagcn.io_atomic import replacing
from kappagcn.progress import bar

__all__ = ["checked_bytes", "fetch", "hash_words"]

CHUNK = 2**16
UNKNOWN_SIZE_LIMIT = 2**28  # bytes taken from a source whose size is not known
STALE = 24 * 3600  # seconds after which a part file belongs to a process that died
RETRIED = (urllib.error.URLError, TimeoutError, ConnectionError, http.client.HTTPException)


def hash_words(source: Source) -> str:
    """What the file should hash to, for messages."""
    return f"SHA-256 {source.sha256}" if source.sha256 else f"git blob {source.git_blob}"


def checked_bytes(path: Path, source: Source) -> bytes:
    """The bytes of a file, if they are those the catalogue promises."""
    content = path.read_bytes()
    _check(content, source, str(path))
    return content


def _check(content: bytes, source: Source, what: str) -> None:
    found = {"sha256": hashlib.sha256(content).hexdigest()}
    if source.git_blob:
        found["git_blob"] = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    if not (source.sha256 or source.git_blob):
        raise IntegrityError(f"{what}: expected a known hash to check it against, found none in the catalogue.")
    for kind, value in found.items():
        expected = getattr(source, kind)
        if expected and expected != value:
            raise IntegrityError(
                f"{what}: expected {kind} {expected}, found {value} ({len(content):,} bytes). "
                "It was not read; remove it, or put the right file in its place."
            )


def fetch(
    source: Source,
    folder: Path,
    *,
    timeout: float = 30.0,
    attempts: int = 3,
    pause: float = 1.0,
    progress: bool = True,
) -> Path:
    """Download a file into a folder; it appears there under its name only when complete and checked.

    Args:
        source: The file.
        folder: Where to put it; made if it does not exist.
        timeout: Seconds without an answer after which an attempt is given up.
        attempts: How often to try when the connection fails.
        pause: Seconds before the second attempt; doubled before each further one.
        progress: Show a bar on a terminal.
    """
    if not source.url.startswith(("https://", "http://")):
        raise DownloadError(f"{source.name}: expected an http address, found {source.url!r}.")
    _sweep(folder)
    for attempt in range(attempts):
        try:
            content = _get(source, timeout, progress)
            break
        except RETRIED as error:
            permanent = isinstance(error, urllib.error.HTTPError) and error.code < 500 and error.code not in (408, 429)
            if permanent or attempt == attempts - 1:
                reason = getattr(error, "reason", None) or error
                raise DownloadError(f"{source.url} could not be fetched ({reason}).") from None
            time.sleep(pause * 2**attempt)
    _check(content, source, source.url)
    try:
        with replacing(folder / source.name) as file:
            file.write(content)
    except OSError as error:
        raise DownloadError(f"{source.name} could not be kept in {folder} ({error.strerror or error}).") from None
    return folder / source.name


def _get(source: Source, timeout: float, progress: bool) -> bytes:
    limit = source.bytes if source.bytes is not None else UNKNOWN_SIZE_LIMIT
    content = bytearray()
    request = urllib.request.Request(source.url, headers={"User-Agent": "kappagcn"})
    with (
        urllib.request.urlopen(request, timeout=timeout) as answer,
        bar(source.name, source.bytes, shown=progress, in_bytes=True) as advance,
    ):
        while chunk := answer.read(CHUNK):
            content += chunk
            advance(len(chunk))
            if len(content) > limit:
                raise IntegrityError(f"{source.url}: expected {limit:,} bytes, found more. Nothing was kept.")
    if source.bytes is not None and len(content) < source.bytes:
        raise http.client.IncompleteRead(bytes(content), source.bytes - len(content))
    return bytes(content)


def _sweep(folder: Path) -> None:
    for part in folder.glob("*.part"):
        with contextlib.suppress(OSError):  # another process may have swept it first
            if time.time() - part.stat().st_mtime > STALE:
                part.unlink()
