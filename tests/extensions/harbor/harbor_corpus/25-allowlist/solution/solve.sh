#!/bin/bash
for host in open shut; do python3 /opt/ask.py GET http://$host:8000/ > /dev/null && echo $host; done > hosts.txt
python3 /opt/ask.py PUT http://open:8000/mark seen
