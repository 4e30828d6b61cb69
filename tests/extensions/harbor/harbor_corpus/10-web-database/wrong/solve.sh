#!/bin/bash
python3 -c "from urllib.request import urlopen; urlopen('http://web:8000/', b'ada grace')"
