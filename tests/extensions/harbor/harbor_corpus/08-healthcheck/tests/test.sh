#!/bin/bash
if grep -qx ready token; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
