#!/bin/bash
# From the collected file; the store of a separate verifier is a new one.
python3 /opt/ask.py GET "$STORE/a" && exit 1
if [ "$(paste -sd ' ' /logs/artifacts/kept.txt)" = "$KEPT" ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
