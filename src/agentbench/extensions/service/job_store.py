"""The jobs of a service in an SQLite file, so that they survive its end, however it comes.

Each method is one transaction, on disk when it returns. One thread at a time may use a store.
"""

import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from agentbench.attempt.record import RunId
from agentbench.errors import InputError, StorageError, UsageError
from agentbench.extensions.service.messages import MAX_ENDED, JobStart, JobState, ServiceJob
from agentbench.extensions.service.problems import ProblemDetails
from agentbench.judge.judge_verdict import DEADLINE_DETAIL, JudgeVerdict
from agentbench.judge.submitted_change import SubmittedChange
from agentbench.tasks.problem import TaskId

SCHEMA_VERSION: Final = 1
SECONDS_PER_DAY: Final = 24 * 3600
_SCHEMA = """
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    idempotency_key TEXT UNIQUE,
    request_digest TEXT NOT NULL,
    client_group TEXT,
    task_id TEXT NOT NULL,
    task_digest TEXT NOT NULL,
    change_digest TEXT NOT NULL,
    priority INTEGER NOT NULL,
    fresh INTEGER NOT NULL,
    state TEXT NOT NULL,
    created_at REAL NOT NULL,
    due_at REAL,
    ended_at REAL,
    ended_number INTEGER UNIQUE,
    verdict TEXT,
    error TEXT
);
CREATE INDEX waiting_jobs ON jobs (priority DESC, number) WHERE state = 'queued';
CREATE INDEX open_jobs ON jobs (state) WHERE state IN ('queued', 'running');
CREATE INDEX ended_jobs ON jobs (client_group, ended_number) WHERE ended_number IS NOT NULL;
CREATE TABLE ends (number INTEGER PRIMARY KEY AUTOINCREMENT);
CREATE TABLE changes (
    job INTEGER PRIMARY KEY REFERENCES jobs ON DELETE CASCADE,
    is_tree INTEGER NOT NULL,
    content BLOB NOT NULL
);
CREATE TABLE starts (
    job INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
    run_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    started_at REAL NOT NULL
);
CREATE INDEX starts_of_jobs ON starts (job);
"""
_OPEN = (JobState.QUEUED.value, JobState.RUNNING.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job to store."""

    id: str
    task_id: TaskId
    task_digest: str
    change: SubmittedChange
    priority: int = 0
    fresh: bool = False
    deadline: float | None = None  # seconds
    group: str | None = None
    idempotency_key: str | None = None

    @property
    def request_digest(self) -> str:
        """A description of the request; a repeated request has the same one."""
        values = [self.task_id, self.change.digest, self.priority, self.fresh]
        return json.dumps([*values, self.deadline, self.group])


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingJob:
    """A job that waits for a free slot."""

    id: str
    priority: int
    task_id: TaskId
    task_digest: str
    fresh: bool
    due_at: float | None


class KeyReusedError(Exception):
    """Another request had the same idempotency key."""


class JobStore:
    """The jobs of one service."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        """Open the file, or create it. Jobs that were running wait again.

        Raises:
            UsageError: another service has the file, or it is a folder or a device.
            InputError: it is not a file of jobs, or that of a newer version.
            StorageError: it cannot be created or written.
        """
        self._path = path
        self._clock = clock
        if path.exists() and not path.is_file():
            raise UsageError(f"{path}: expected a file for the queue; give another --queue")
        with self._naming_errors():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(
                path, timeout=0.5, isolation_level=None, check_same_thread=False
            )
            self._database.row_factory = sqlite3.Row
            try:
                self._prepare()
            except BaseException:
                self._database.close()
                raise

    def close(self) -> None:
        self._database.close()

    def add(self, new: NewJob) -> tuple[ServiceJob, bool]:
        """Store a job; returns it, and whether it is new.

        Raises:
            KeyReusedError: another request had its idempotency key.
            StorageError: the file cannot be written.
        """
        now = self._clock()
        with self._transaction() as database:
            if new.idempotency_key is not None:
                query = "SELECT * FROM jobs WHERE idempotency_key = ?"
                known = database.execute(query, (new.idempotency_key,)).fetchone()
                if known is not None:
                    if known["request_digest"] != new.request_digest:
                        raise KeyReusedError
                    return self._job_of(known), False
            row = {
                "id": new.id,
                "idempotency_key": new.idempotency_key,
                "request_digest": new.request_digest,
                "client_group": new.group,
                "task_id": new.task_id,
                "task_digest": new.task_digest,
                "change_digest": new.change.digest,
                "priority": new.priority,
                "fresh": new.fresh,
                "state": JobState.QUEUED.value,
                "created_at": now,
                "due_at": None if new.deadline is None else now + new.deadline,
            }
            columns, places = ", ".join(row), ", ".join(f":{name}" for name in row)
            number = database.execute(
                f"INSERT INTO jobs ({columns}) VALUES ({places})",
                row,
            ).lastrowid
            content = (number, new.change.paths is not None, new.change.content)
            database.execute("INSERT INTO changes VALUES (?, ?, ?)", content)
        found = self.job(new.id)
        assert found is not None
        return found, True

    def job(self, job_id: str) -> ServiceJob | None:
        """A job; None: there is none."""
        with self._naming_errors():
            query = "SELECT * FROM jobs WHERE id = ?"
            row = self._database.execute(query, (job_id,)).fetchone()
            return None if row is None else self._job_of(row)

    def change(self, job_id: str) -> tuple[bytes, bool] | None:
        """The change of a job, and whether it is a tree; None: the job has ended."""
        with self._naming_errors():
            query = "SELECT content, is_tree FROM changes JOIN jobs ON job = number WHERE id = ?"
            row = self._database.execute(query, (job_id,)).fetchone()
        return None if row is None else (row["content"], bool(row["is_tree"]))

    def waiting(self, limit: int) -> Sequence[WaitingJob]:
        """The jobs that wait, the most urgent first."""
        query = (
            "SELECT id, priority, task_id, task_digest, fresh, due_at FROM jobs "
            "WHERE state = 'queued' ORDER BY priority DESC, number LIMIT ?"
        )
        with self._naming_errors():
            rows = self._database.execute(query, (limit,)).fetchall()
        return [
            WaitingJob(
                id=row["id"],
                priority=row["priority"],
                task_id=row["task_id"],
                task_digest=row["task_digest"],
                fresh=bool(row["fresh"]),
                due_at=row["due_at"],
            )
            for row in rows
        ]

    def begin(self, job_id: str, run_id: RunId, attempt: int) -> None:
        with self._transaction() as database:
            query = "UPDATE jobs SET state = 'running' WHERE id = ? AND state IN (?, ?)"
            if database.execute(query, (job_id, *_OPEN)).rowcount:
                query = "INSERT INTO starts SELECT number, ?, ?, ? FROM jobs WHERE id = ?"
                database.execute(query, (run_id, attempt, self._clock(), job_id))

    def end(
        self,
        job_id: str,
        state: JobState,
        *,
        verdict: JudgeVerdict | None = None,
        error: ProblemDetails | None = None,
    ) -> bool:
        """Note how a job ended; returns False if it had ended before."""
        values: dict[str, str | float | int | None] = {
            "id": job_id,
            "state": state.value,
            "now": self._clock(),
            "verdict": None if verdict is None else verdict.model_dump_json(),
            "error": None if error is None else error.model_dump_json(),
        }
        query = (
            "UPDATE jobs SET state = :state, ended_at = :now, verdict = :verdict, error = :error, "
            "ended_number = :ended_number "
            "WHERE id = :id AND state IN ('queued', 'running')"
        )
        with self._transaction() as database:
            # An empty table counts on: a number must not come twice when jobs have been forgotten.
            insert = "INSERT INTO ends DEFAULT VALUES"
            values["ended_number"] = database.execute(insert).lastrowid
            database.execute("DELETE FROM ends")
            if not database.execute(query, values).rowcount:
                return False
            # A tree may have hundreds of MiB, and nobody asks for the change of an ended job.
            query = "DELETE FROM changes WHERE job = (SELECT number FROM jobs WHERE id = ?)"
            database.execute(query, (job_id,))
            return True

    def expire(self) -> Sequence[str]:
        """End the waiting jobs whose deadline has passed; returns their ids."""
        query = "SELECT * FROM jobs WHERE state = 'queued' AND due_at <= ?"
        with self._naming_errors():
            late = self._database.execute(query, (self._clock(),)).fetchall()
        for row in late:
            verdict = JudgeVerdict.without_result(
                task_id=row["task_id"],
                task_digest=row["task_digest"],
                change_digest=row["change_digest"],
                detail=DEADLINE_DETAIL,
            )
            self.end(row["id"], JobState.DONE, verdict=verdict)
        return [row["id"] for row in late]

    def ended(self, group: str, after: int) -> Sequence[ServiceJob]:
        """The first jobs of a group that ended after another one."""
        query = (
            "SELECT * FROM jobs WHERE client_group = ? AND ended_number > ? "
            "ORDER BY ended_number LIMIT ?"
        )
        with self._naming_errors():
            rows = self._database.execute(query, (group, after, MAX_ENDED)).fetchall()
            return [self._job_of(row) for row in rows]

    def open_jobs(self, group: str | None = None) -> Sequence[str]:
        """The ids of the jobs that have not ended, of a group or of all."""
        query = "SELECT id FROM jobs WHERE state IN (?, ?) AND ifnull(client_group = ?, ?)"
        with self._naming_errors():
            values = (*_OPEN, group, group is None)
            return [row["id"] for row in self._database.execute(query, values)]

    def counts(self) -> tuple[int, int]:
        """The number of waiting jobs, and that of running ones."""
        query = "SELECT state, count(*) FROM jobs WHERE state IN (?, ?) GROUP BY state"
        with self._naming_errors():
            found = dict(map(tuple, self._database.execute(query, _OPEN).fetchall()))
        return found.get(_OPEN[0], 0), found.get(_OPEN[1], 0)

    def prune(self, keep_seconds: float) -> None:
        """Forget jobs that ended longer ago."""
        with self._transaction() as database:
            database.execute("DELETE FROM jobs WHERE ended_at < ?", (self._clock() - keep_seconds,))

    def _job_of(self, row: sqlite3.Row) -> ServiceJob:
        query = "SELECT run_id, attempt, started_at FROM starts WHERE job = ? ORDER BY rowid"
        starts = self._database.execute(query, (row["number"],)).fetchall()
        verdict, error = row["verdict"], row["error"]
        return ServiceJob(
            id=row["id"],
            group=row["client_group"],
            task_id=row["task_id"],
            task_digest=row["task_digest"],
            change_digest=row["change_digest"],
            state=JobState(row["state"]),
            priority=row["priority"],
            fresh=bool(row["fresh"]),
            created_at=_time(row["created_at"]),
            due_at=None if row["due_at"] is None else _time(row["due_at"]),
            starts=tuple(
                JobStart(run_id=each[0], attempt=each[1], started_at=_time(each[2]))
                for each in starts
            ),
            ended_at=None if row["ended_at"] is None else _time(row["ended_at"]),
            ended_number=row["ended_number"],
            verdict=None if verdict is None else JudgeVerdict.model_validate_json(verdict),
            error=None if error is None else ProblemDetails.model_validate_json(error),
        )

    def _prepare(self) -> None:
        """Lock the file, create the tables, and let jobs that were running wait again."""
        database = self._database
        for pragma in (
            # A second service on the same file would judge jobs twice.
            "locking_mode = EXCLUSIVE",
            "journal_mode = WAL",
            # An accepted job survives a power cut.
            "synchronous = FULL",
            "foreign_keys = ON",
        ):
            database.execute(f"PRAGMA {pragma}")
        database.execute("BEGIN IMMEDIATE")
        try:
            (version,) = database.execute("PRAGMA user_version").fetchone()
            self._check_version(version)
            if not version:
                # Not `executescript`, which would commit the transaction first.
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    database.execute(statement)
                database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            database.execute("UPDATE jobs SET state = 'queued' WHERE state = 'running'")
            database.execute("COMMIT")
        except BaseException:
            database.execute("ROLLBACK")
            raise

    def _check_version(self, version: int) -> None:
        if version > SCHEMA_VERSION:
            raise InputError(
                f"{self._path}: expected a queue of this version of agentbench, found one of a "
                "newer version; use that version, or another --queue"
            )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._naming_errors():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    @contextmanager
    def _naming_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                raise UsageError(
                    f"{self._path}: another service has this queue; stop it, or give --queue "
                    "another file"
                ) from None
            raise StorageError(f"{self._path}: {error}") from None
        except sqlite3.DatabaseError as error:
            raise InputError(f"{self._path}: expected a queue of a service: {error}") from None
        except OSError as error:
            raise StorageError(f"{self._path}: {error.strerror}") from None


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
