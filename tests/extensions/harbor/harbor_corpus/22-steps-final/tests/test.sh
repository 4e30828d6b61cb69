#!/bin/bash
# Both steps: the subject must be in the text of the step, which the right user wrote.
subject=0 reward=0
grep -qw "$SUBJECT" "$PART.txt" && subject=1
bash /tests/step.sh && reward=1
echo "{\"reward\": $reward, \"subject\": $subject}" > /logs/verifier/reward.json
