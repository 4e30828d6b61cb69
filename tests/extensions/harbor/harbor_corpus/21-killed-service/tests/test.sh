#!/bin/bash
set -e
[ "$(python3 /opt/ask.py GET http://store:8000/)" = ready ]  # without the service there is no reward
door=$(python3 /opt/ask.py GET http://store:8000/door || true)
if [ "$door" = open ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
