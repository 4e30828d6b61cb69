#!/bin/bash
mark=$(python3 /opt/ask.py GET http://open:8000/mark)
if [ "$mark" = seen ] && [ "$(cat hosts.txt)" = open ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
