#!/bin/bash
if python3 /opt/ask.py GET http://open:8000/; then echo open; else echo none; fi > reached.txt
python3 - > local.txt <<'PY'
import socket

server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname()).sendall(b"x")
print("yes" if server.accept()[0].recv(1) == b"x" else "no")
PY
