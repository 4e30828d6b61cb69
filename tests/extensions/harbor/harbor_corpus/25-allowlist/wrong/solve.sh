#!/bin/bash
echo open > hosts.txt
python3 /opt/ask.py PUT http://shut:8000/mark seen
