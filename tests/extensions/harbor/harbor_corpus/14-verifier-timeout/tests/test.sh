#!/bin/bash
if [ "$(bash answer.sh)" = yes ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
