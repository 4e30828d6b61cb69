#!/bin/bash
python3 /opt/ask.py PUT http://localhost:8000/word kept
