#!/bin/bash
mkdir out
echo '{"color": "red"}' > result.json
echo red > out/color.txt
