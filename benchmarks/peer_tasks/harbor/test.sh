#!/bin/bash
cd /app && git apply /tests/tests.patch && python -m pytest -q tests
if [ $? -eq 0 ]; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi
