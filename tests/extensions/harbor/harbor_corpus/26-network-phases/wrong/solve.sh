#!/bin/bash
python3 /opt/ask.py GET http://open:8000/code > code.txt
