#!/bin/bash
if [ "$(python3 /opt/ask.py GET http://localhost:8000/word)" = kept ]; then echo 1; else echo 0; fi \
  > /logs/verifier/reward.txt
