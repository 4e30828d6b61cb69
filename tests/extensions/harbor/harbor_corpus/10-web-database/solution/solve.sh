#!/bin/bash
for name in ada grace; do
  python3 -c "from urllib.request import urlopen; urlopen('http://web:8000/', b'$name')"
done
