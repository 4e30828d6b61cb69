#!/bin/bash
if [ -e third ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
