#!/bin/bash
python3 /opt/ask.py PUT http://store:8000/word kept  # the name is in no network
