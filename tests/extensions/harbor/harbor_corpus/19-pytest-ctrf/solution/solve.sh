#!/bin/bash
sed -i 's/return title.*/return "-".join(title.lower().split())/' slug.py
