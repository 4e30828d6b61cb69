#!/bin/bash
python3 - <<'PY'
import sqlite3

with sqlite3.connect("/srv/shop.db") as shop:
    shop.executemany("insert into sold values (?, ?)", [("cup", 3), ("pot", 8)])
PY
