#!/bin/bash
# The verifier may ask `open` for the code, and only `open`.
python3 /opt/ask.py GET http://shut:8000/ && exit 1
if [ "$(python3 /opt/ask.py GET http://open:8000/code)" = "$(cat code.txt)" ]; then echo 1; else echo 0; fi \
  > /logs/verifier/reward.txt
