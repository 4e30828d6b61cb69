#!/bin/bash
if [ "$PWD" = /tests ] && grep -qx one /app/one.txt; then echo '{"one": 1, "reward": 1}'; else
  echo '{"one": 0, "reward": 0}'; fi > /logs/verifier/reward.json
