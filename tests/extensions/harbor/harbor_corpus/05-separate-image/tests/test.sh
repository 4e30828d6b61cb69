#!/bin/bash
found=$(python3 -c 'import json, os; print(json.load(open("/app/result.json"))[os.environ["KEY"]])')
if [ "$PWD" = /judge ] && [ "$found" = "$WANTED" ] && [ "$(ls /app/out)" = color.txt ]; then echo 1; else echo 0; fi \
  > /logs/verifier/reward.txt
