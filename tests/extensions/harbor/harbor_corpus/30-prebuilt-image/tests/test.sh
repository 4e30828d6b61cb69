#!/bin/bash
if [ "$(cat /etc/sorted.txt)" = $'apple\npear' ] && [ "$(stat -c %u /etc/sorted.txt)" = 0 ]; then echo 1; else echo 0; fi \
  > /logs/verifier/reward.txt
