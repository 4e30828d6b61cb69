#!/bin/bash
if [ "$(id -un)" = judge ] && [ "$(cat who.txt)" = worker ] && [ "$(stat -c %U sum.txt)" = worker ] &&
  cmp -s sum.txt /srv/answer; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
