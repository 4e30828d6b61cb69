#!/bin/bash
if [ "$(stat -c %a /usr/local/bin/count)" = 755 ] && [ "$(count)" = 3 ] && [ "$(cat count.txt)" = 3 ] &&
  [ ! -e /scratch/gone ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
