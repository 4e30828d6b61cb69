import json
import sqlite3

rows = sqlite3.connect("/srv/shop.db").execute("select item, price from sold order by item")
print(json.dumps(dict(rows.fetchall())))
