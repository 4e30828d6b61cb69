#!/bin/bash
# The verifier's own variables are in no other environment, and MARK is only in the solution's.
if [ "$(cat greeting.txt)" = "$GREETING world$ENDING" ] && [ "$WHOM" = moon ] && [ -z "${MARK+set}" ] &&
  [ "$EMPTY" = "" ] && tr '\0' '\n' < /proc/1/environ | grep -qx WHOM=world; then echo 1; else echo 0; fi \
  > /logs/verifier/reward.txt
