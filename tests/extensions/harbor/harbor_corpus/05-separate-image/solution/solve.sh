#!/bin/bash
mkdir out
echo '{"color": "blue"}' > result.json
echo blue > out/color.txt
echo scratch > out/color.tmp
