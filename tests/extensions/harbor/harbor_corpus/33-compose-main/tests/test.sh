#!/bin/bash
touch /tmp/mine
chown 1000 /tmp/mine && exit 1  # the capability is gone
if [ "$(cat /srv/word)" = double ] && [ "$(cat /shared/result)" = 42 ] && [ "$(cat host.txt)" = desk ] &&
  [ "$(stat -c %u host.txt)" = 1000 ] && [ "$(stat -f -c %T /scratch)" = tmpfs ]; then echo 1; else echo 0; fi \
  > /logs/verifier/reward.txt
