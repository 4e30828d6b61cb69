#!/bin/bash
set -e
port=$(python3 -c 'import json; print(json.load(open("config.json"))["port"])')  # no reward if this fails
if [ "$port" = 8080 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
