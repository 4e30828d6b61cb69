#!/bin/bash
echo $((1 + 2 + 3)) > sum.txt
id -un > who.txt
