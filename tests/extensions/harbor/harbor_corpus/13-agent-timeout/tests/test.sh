#!/bin/bash
if [ -e first.txt ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
