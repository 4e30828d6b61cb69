#!/bin/bash
words=$(for n in a b; do python3 /opt/ask.py GET "$STORE/$n"; done | tr -d '\n')
python3 /opt/ask.py PUT "$STORE/length" ${#words}
