#!/bin/bash
python3 /opt/ask.py PUT "$STORE/a" one
