#!/bin/bash
echo $((1233 + 1)) > code.txt
