#!/bin/bash
# Right in the first step only: it stores the same again and again.
python3 /opt/ask.py PUT "$STORE/a" one
