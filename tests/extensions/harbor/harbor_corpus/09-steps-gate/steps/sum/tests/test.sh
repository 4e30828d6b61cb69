#!/bin/bash
if grep -qx 43 sum.txt; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
