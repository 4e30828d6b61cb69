#!/bin/bash
if [ "$(cat numbers.txt)" = $'4\n8\n15' ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
