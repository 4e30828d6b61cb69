#!/bin/bash
python3 /opt/ask.py PUT "$STORE/b" two
