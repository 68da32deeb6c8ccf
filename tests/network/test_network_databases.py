"""Clients of databases, unchanged in a session, against real servers on localhost: rules for `tcp://`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trustme
from database_servers import PASSWORD, mariadb, postgresql

from planaria import Network

pytestmark = pytest.mark.slow


def test_postgresql(
    new_session: Any, clients: str, authority: trustme.CA, certificates: Path, value_of: Any
) -> None:
    """pg8000 logs in to PostgreSQL, with TLS and without, keeps rows in transactions, and sees the server's errors."""
    with postgresql(authority) as port:
        network = Network(allow=[f"tcp://localhost:{port}"], certificates=certificates)
        session = new_session(network=network, image=clients)
        code = f"""
import pg8000.dbapi, pg8000.native
place = dict(user="planaria", host="localhost", port={port}, database="postgres", password={PASSWORD!r})
with pg8000.native.Connection(**place, ssl_context=True) as connection:
    encrypted = connection.run("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
    connection.run("CREATE TABLE texts (n int, text text)")
    for n in range(3):
        connection.run("INSERT INTO texts VALUES (:n, :text)", n=n, text="é" * n)
connection = pg8000.dbapi.connect(**place, ssl_context=False)
cursor = connection.cursor()
cursor.execute("DELETE FROM texts")
connection.rollback()
cursor.execute("SELECT n, text FROM texts ORDER BY n")
rows = [tuple(row) for row in cursor.fetchall()]
cursor.execute("SELECT repeat('x', 3000000)")
size = len(cursor.fetchone()[0])
try:
    cursor.execute("SELECT * FROM nothing")
except pg8000.dbapi.DatabaseError as error:
    reason = error.args[0]["C"]
connection.close()
try:
    pg8000.native.Connection(**(place | {{"password": "wrong"}}), ssl_context=False)
except pg8000.native.DatabaseError as error:
    refused = error.args[0]["C"]
encrypted, rows, size, reason, refused
"""
        rows = [(0, ""), (1, "é"), (2, "éé")]
        assert value_of(session, code) == ([[True]], rows, 3_000_000, "42P01", "28P01")


def test_mysql(new_session: Any, clients: str, value_of: Any) -> None:
    """PyMySQL keeps rows in transactions of MariaDB, reads large ones, and sees the server's errors."""
    with mariadb() as port:
        session = new_session(network=Network(allow=[f"tcp://localhost:{port}"]), image=clients)
        code = f"""
import pymysql
connection = pymysql.connect(host="localhost", port={port}, user="planaria", charset="utf8mb4")
with connection, connection.cursor() as cursor:
    cursor.execute("CREATE DATABASE tests CHARACTER SET utf8mb4")
    cursor.execute("USE tests")
    cursor.execute("CREATE TABLE texts (n int, text text) ENGINE=InnoDB")
    cursor.executemany("INSERT INTO texts VALUES (%s, %s)", [(n, "é" * n) for n in range(3)])
    connection.commit()
    cursor.execute("DELETE FROM texts")
    connection.rollback()
    cursor.execute("SELECT n, text FROM texts ORDER BY n")
    rows = cursor.fetchall()
    cursor.execute("SELECT repeat('x', 3000000)")
    size = len(cursor.fetchone()[0])
    try:
        cursor.execute("SELECT * FROM nothing")
    except pymysql.ProgrammingError as error:
        reason = error.args[0]
rows, size, reason
"""
        assert value_of(session, code) == (((0, ""), (1, "é"), (2, "éé")), 3_000_000, 1146)


def test_database_without_a_rule(new_session: Any, clients: str, value_of: Any) -> None:
    """A server that no rule names is a refusal in the driver's own error."""
    session = new_session(network=Network(allow=["tcp://localhost:1"]), image=clients)
    code = """
import pymysql
try:
    pymysql.connect(host="localhost", port=2, user="planaria")
except pymysql.OperationalError as error:
    reason = str(error)
reason
"""
    assert "localhost:2 is not allowed; allowed are localhost:1" in value_of(session, code)
