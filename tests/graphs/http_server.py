"""A small HTTP server whose answers can be cut short, slow, wrong or refused."""

import hashlib
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from kappagcn.graphs.datasets.sources import Source


class Site(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {}
        self.requests = []
        self.behave = lambda count: {}  # by the number of requests so far: cut, status, hold (an event), claim

    def handle_error(self, *_):
        """Clients that go away in the middle are what some tests are about."""

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def source(self, name, content, *, size=True, sha256=True):
        """Serve a file and describe it as the catalogue would."""
        self.files["/" + name] = content
        blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        return Source(
            name=name,
            url=f"{self.address}/{name}",
            bytes=len(content) if size else None,
            sha256=hashlib.sha256(content).hexdigest() if sha256 else None,
            git_blob=blob,
        )


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        how = self.server.behave(len(self.server.requests))
        self.server.requests.append(self.path)
        content = self.server.files.get(self.path)
        if content is None or "status" in how:
            self.send_error(how.get("status", 404))
            return
        self.send_response(200)
        if how.get("claim", True):
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        sent = content[: how.get("cut", len(content))]
        half = len(sent) // 2
        self.wfile.write(sent[:half])
        if "hold" in how:
            how["hold"].wait()
        self.wfile.write(sent[half:])

    def log_message(self, *_):
        pass


@contextmanager
def site():
    server = Site()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
