"""Keeps what is put at a path; GET /stop ends the service."""

import os
from http.server import BaseHTTPRequestHandler, HTTPServer

KEPT = {"/": "ready"}


class Store(BaseHTTPRequestHandler):
    def do_PUT(self) -> None:
        KEPT[self.path] = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.answer(200, "")

    def do_GET(self) -> None:
        if self.path == "/stop":
            os._exit(1)
        self.answer(200 if self.path in KEPT else 404, KEPT.get(self.path, ""))

    def answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())


HTTPServer(("", 8000), Store).serve_forever()
