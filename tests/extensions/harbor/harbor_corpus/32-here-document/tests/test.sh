#!/bin/bash
if [ "$(paste -sd ' ' words.txt)" = "milk tea" ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
