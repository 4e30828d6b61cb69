"""ask.py GET URL | ask.py PUT URL TEXT: prints the answer; fails if there is none."""

import sys
from urllib.request import Request, urlopen

method, url, *text = sys.argv[1:]
body = text[0].encode() if text else None
print(urlopen(Request(url, body, method=method), timeout=30).read().decode())
