"""A task about a web application with real PostgreSQL and Redis beside it."""

from collections.abc import Mapping
from pathlib import Path

from tests.e2e.small_task import SERIAL, SmallTask

COMPOSE = """\
services:
  main:
    environment: {DATABASE: db, CACHE: cache}
    depends_on: {db: {condition: service_healthy}, cache: {condition: service_healthy}}
  db:
    build: ./db
    healthcheck:
      test: ["CMD", "pg_isready", "-h", "db", "-U", "postgres", "-d", "shop"]
      interval: 0.5s
      retries: 120
  cache:
    image: agentbench-tests/redis:7
    command: ["redis-server", "--protected-mode", "no", "--save", ""]
    healthcheck: {test: ["CMD", "redis-cli", "ping"], interval: 0.5s, retries: 120}
"""
DATABASE = """\
FROM agentbench-tests/postgres:15
USER postgres
STOPSIGNAL SIGINT
RUN initdb -D /tmp/data --auth=trust && echo 'host all all all trust' >> /tmp/data/pg_hba.conf && \\
    echo 'create database shop' | postgres --single -D /tmp/data postgres && \\
    echo 'create table prices (item text primary key, price int)' | \\
    postgres --single -D /tmp/data shop
CMD ["postgres", "-D", "/tmp/data", "-k", "/tmp", "-h", "*", "-c", "fsync=off"]
"""
APPLICATION = '''\
"""GET /prices/ITEM gives a price, PUT changes it; prices are cached in Redis."""

import os

import flask
import pg8000.native
import redis

app = flask.Flask("shop")
cache = redis.Redis(os.environ["CACHE"])


def sql(command, **values):
    database = pg8000.native.Connection(
        "postgres", host=os.environ["DATABASE"], database="shop", timeout=20
    )
    try:
        return database.run(command, **values)
    finally:
        database.close()


@app.get("/prices/<item>")
def price_of(item):
    known = cache.get(item)
    if known is None:
        rows = sql("select price from prices where item = :item", item=item)
        if not rows:
            flask.abort(404)
        known = rows[0][0]
        cache.set(item, known)
    return {"price": int(known)}


@app.put("/prices/<item>")
def change_price(item):
    sql(
        "insert into prices values (:item, :price) "
        "on conflict (item) do update set price = excluded.price",
        item=item,
        price=flask.request.get_json()["price"],
    )
    return "", 204
'''
FIXED = APPLICATION.replace('    return "", 204', '    cache.delete(item)\n    return "", 204')
TESTS = """\
import json
import threading
import urllib.error
import urllib.request

import pytest
from werkzeug.serving import make_server

import shop


@pytest.fixture(scope="module")
def url():
    server = make_server("127.0.0.1", 0, shop.app, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/prices/"
    server.shutdown()


def call(url, price=None):
    body = None if price is None else json.dumps({"price": price}).encode()
    request = urllib.request.Request(
        url, body, {"Content-Type": "application/json"}, method="GET" if body is None else "PUT"
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read() or "{}").get("price")


"""
VISIBLE = f"""{TESTS}def test_an_unknown_item_is_not_found(url):
    with pytest.raises(urllib.error.HTTPError, match="404"):
        call(url + "pear")
"""
HIDDEN = f"""{TESTS}def test_a_changed_price_is_seen_at_once(url):
    call(url + "apple", 1)
    assert call(url + "apple") == 1
    call(url + "apple", 2)
    assert call(url + "apple") == 2


def test_a_price_is_kept(url):
    call(url + "plum", 3)
    assert call(url + "plum") == 3
"""
FIX = 'sed -i \'s/    return "", 204/    cache.delete(item)\\n    return "", 204/\' shop.py'
"""The fix as a command."""


def web_shop(folder: Path, *, compose: str = COMPOSE, environment: str = "") -> Path:
    """Write the task into a new folder, and return that."""
    files: Mapping[str, str] = {
        "shop.py": APPLICATION,
        "tests/test_unknown.py": VISIBLE,
        "serial.txt": SERIAL,
    }
    task = SmallTask(
        files=files,
        hidden=HIDDEN,
        environment=f'compose = "services/docker-compose.yaml"\n{environment}',
        setup='commands = ["python -m pip install -q flask pg8000 redis"]',
        fail_to_pass=("tests/test_hidden.py::test_a_changed_price_is_seen_at_once",),
        test_timeout_s=180,
    )
    (folder / "services" / "db").mkdir(parents=True)
    (folder / "services" / "docker-compose.yaml").write_text(compose)
    (folder / "services" / "db" / "Dockerfile").write_text(DATABASE)
    return task.write(folder)
