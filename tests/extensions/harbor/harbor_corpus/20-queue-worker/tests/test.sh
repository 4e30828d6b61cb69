#!/bin/bash
if grep -qx '9 16 25' /srv/out/squares.txt && grep -qx 3 /app/log.txt; then echo 1; else echo 0; fi \
  > /logs/verifier/reward.txt
