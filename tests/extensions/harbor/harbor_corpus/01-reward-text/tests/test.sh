#!/bin/bash
if grep -qx hello hello.txt; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
exit 3  # the reward counts, not the exit code
