#!/bin/bash
python3 /opt/ask.py GET http://open:8000/ && exit 1  # the verifier has no network, either
if grep -qx none reached.txt && grep -qx yes local.txt; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
