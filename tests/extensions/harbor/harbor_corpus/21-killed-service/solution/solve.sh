#!/bin/bash
python3 /opt/ask.py PUT http://store:8000/door open
