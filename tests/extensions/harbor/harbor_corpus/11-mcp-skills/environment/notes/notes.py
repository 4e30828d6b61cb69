"""An MCP server over HTTP with one tool: the text of a note."""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer

RESULTS = {
    "initialize": {
        "protocolVersion": "2025-03-26",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "notes", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "read_note", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "buy two lemons"}]},
}


class Notes(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        result = RESULTS.get(request["method"], {})
        body = json.dumps({"jsonrpc": "2.0", "id": request.get("id"), "result": result}).encode()
        self.send_response(200 if "id" in request else 202)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        if "id" in request:
            self.wfile.write(body)


HTTPServer(("", 8000), Notes).serve_forever()
