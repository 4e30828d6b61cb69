#!/bin/bash
# The verifier has the report and the log, and nothing else of the agent's container.
if grep -qx 42 report/total.txt && grep -qx done /logs/artifacts/log.txt && grep -qx original notes.txt &&
  [ ! -e /solution ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
