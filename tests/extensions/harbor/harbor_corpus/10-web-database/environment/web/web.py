"""GET / lists the guests; POST / adds the guest that the body names."""

import os
import subprocess
from http.server import BaseHTTPRequestHandler, HTTPServer

TABLE = os.environ["TABLE"]


def sql(command: str, **variables: str) -> str:
    options = [f"--set={name}={value}" for name, value in variables.items()]
    psql = ["psql", "-h", "db", "-U", "postgres", "-qAt", "-v", "ON_ERROR_STOP=1", *options]
    return subprocess.run(psql, input=command, text=True, capture_output=True, check=True).stdout


class Guests(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.answer(sql(f"select name from {TABLE} order by name"))

    def do_POST(self) -> None:
        name = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.answer(sql(f"insert into {TABLE} values (:'name')", name=name))

    def answer(self, text: str) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())


sql(f"create table {TABLE} (name text unique)")
HTTPServer(("", 8000), Guests).serve_forever()
