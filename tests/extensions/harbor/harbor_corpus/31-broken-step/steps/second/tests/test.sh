#!/bin/bash
if [ -e second ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
