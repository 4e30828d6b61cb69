#!/bin/bash
if [ "$(python3 /opt/ask.py GET "$STORE/length")" = 6 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
