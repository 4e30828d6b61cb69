#!/bin/bash
echo 256 > /app/memory.txt
