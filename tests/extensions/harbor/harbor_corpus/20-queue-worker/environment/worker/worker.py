"""Squares the numbers in `jobs`; with `drain`, waits until all are done and prints the squares."""

import socket
import sys


class Redis:
    def __init__(self) -> None:
        self.file = socket.create_connection(("queue", 6379)).makefile("rw", newline="\r\n")

    def call(self, *words: object) -> list[str]:
        self.file.write(" ".join(map(str, words)) + "\r\n")
        self.file.flush()
        return self.answer()

    def answer(self) -> list[str]:
        kind, text = (head := self.file.readline().strip())[0], head[1:]
        if kind == "*":
            return [word for _ in range(int(text)) for word in self.answer()]
        return [self.file.readline().strip()] if kind == "$" and text != "-1" else [text]


redis = Redis()
if sys.argv[1] == "drain":
    while redis.call("GET", "done") != redis.call("GET", "sent"):
        redis.call("BLPOP", "nothing", 0.1)
    print(*sorted(map(int, redis.call("LRANGE", "squares", 0, -1))))
else:
    while True:
        job = int(redis.call("BLPOP", "jobs", 0)[1])
        redis.call("RPUSH", "squares", job * job)
        redis.call("INCR", "done")
