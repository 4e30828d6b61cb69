"""An MCP server over standard input and output with one tool: the year."""

import json
import sys

for line in sys.stdin:
    request = json.loads(line)
    answer = {"content": [{"type": "text", "text": "1999"}]}
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": answer}), flush=True)
