#!/bin/bash
# Right in the first step, wrong in the second.
if [ -e numbers.txt ]; then echo 27 > sum.txt; else tr , '\n' < numbers.csv > numbers.txt; fi
