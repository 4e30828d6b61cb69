#!/bin/bash
if [ "$PWD" = / ] && grep -qx two /app/two.txt && [ ! -e /app/one.txt ]; then echo '{"two": 1, "reward": 1}'; else
  echo '{"two": 0, "reward": 0.25}'; fi > /logs/verifier/reward.json
