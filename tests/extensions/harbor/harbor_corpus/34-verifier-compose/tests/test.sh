#!/bin/bash
python3 /opt/ask.py PUT "$GRADER/france" Paris
python3 /opt/ask.py PUT "$GRADER/italy" Rome
right=0
for country in france italy; do
  [ "$(python3 /opt/ask.py GET "$GRADER/$country")" = "$(cat /app/answers/$country)" ] && right=$((right + 1))
done
echo "{\"reward\": $(python3 -c "print($right / 2)")}" > /logs/verifier/reward.json
