#!/bin/bash
sed -i 's/return title.*/return title.lower().replace(" ", "-")/' slug.py
