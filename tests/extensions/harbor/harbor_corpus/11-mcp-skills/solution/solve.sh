#!/bin/bash
python3 - > note.txt <<'PY'
import json
import subprocess
from urllib.request import Request, urlopen

call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "read_note"}}
text = lambda answer: json.loads(answer)["result"]["content"][0]["text"]
print(text(urlopen(Request("http://notes:8000/mcp", json.dumps(call).encode())).read()))
clock = subprocess.run(["python3", "/opt/clock.py"], input=json.dumps(call), text=True, capture_output=True)
print(text(clock.stdout))
print("signed: corpus")
PY
