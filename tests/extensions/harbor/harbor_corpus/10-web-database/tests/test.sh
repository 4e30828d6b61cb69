#!/bin/bash
python3 -c 'from urllib.request import urlopen; print(urlopen("http://web:8000/").read().decode(), end="")' > /tmp/guests
if [ "$(cat /tmp/guests)" = $'ada\ngrace' ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
