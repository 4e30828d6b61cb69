#!/bin/bash
if [ -e draft.txt ]; then echo "It rains." > final.txt; else echo "the rain falls" > draft.txt; fi
