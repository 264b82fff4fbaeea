# SPDX-License-Identifier: Apache-2.0
"""The comparison finds each broken promise, in planted ledgers, histories, pushes and files."""

import sqlite3
import time
from contextlib import closing

import pytest

from harness.ledger import Job, Ledger, View, check, check_pushes
from harness.tables import contents, differences


def good():
    """Two acknowledged messages, one without an answer, and a reader who has seen them."""
    ledger = Ledger(sent={"a-1": "tea", "a-2": "tea", "a-3": "tea"})
    ledger.acknowledge("a-1", 1, 0)
    ledger.acknowledge("a-2", 2, 0)
    history = {1: "a-1", 2: "a-2", 3: "a-3"}
    ledger.views.append(View("r", "tea", dict(history), 3))
    return ledger, {"tea": history}


def test_a_good_ledger_is_clean():
    assert check(*good()).is_clean


@pytest.mark.parametrize(
    "plant, expected",
    [
        (lambda ledger, tea: tea.pop(2), {"lost", "gaps", "foreign"}),
        (lambda ledger, tea: tea.update({2: "a-3", 3: "a-2"}), {"lost", "foreign"}),
        (lambda ledger, tea: tea.update({4: "a-1"}) or ledger.views.clear(), {"doubled"}),
        (lambda ledger, tea: tea.update({5: "a-4"}) or ledger.views.clear(), {"gaps", "foreign"}),
        (lambda ledger, tea: ledger.views[0].seen.pop(2), {"gaps"}),
        (lambda ledger, tea: ledger.views[0].seen.update({4: "a-4"}), {"foreign"}),
        (lambda ledger, tea: ledger.acknowledge("a-1", 2, 0), {"problems"}),
    ],
    ids=["lost", "moved", "doubled", "invented", "unseen", "announced but not stored", "acknowledged as two"],
)
def test_the_comparison_finds(plant, expected):
    ledger, history = good()
    plant(ledger, history["tea"])
    found = check(ledger, history)
    assert {name for name, lines in vars(found).items() if lines} == expected, str(found)


def pushes():
    messages = {("tea", 1): "a-1", ("tea", 2): "a-2", ("tea", 3): "a-3"}
    jobs = {("tea", 1): [Job("j1", "sent")], ("tea", 2): [Job("j2", "merged", "j3")], ("tea", 3): [Job("j3", "sent")]}
    arrived = {("phone", "a-1"): ["j1", "j1"], ("phone", "a-3"): ["j3"]}
    return messages, jobs, arrived


def test_a_push_may_arrive_twice_with_the_same_id():
    assert check_pushes(*pushes()).is_clean


@pytest.mark.parametrize(
    "plant, expected",
    [
        (lambda jobs, arrived: jobs.pop(("tea", 1)), {"lost", "foreign"}),
        (lambda jobs, arrived: arrived.pop(("phone", "a-3")), {"lost"}),
        (lambda jobs, arrived: jobs.update({("tea", 1): [Job("j1", "ready")]}), {"problems"}),
        (lambda jobs, arrived: jobs[("tea", 1)].append(Job("j4", "sent")), {"doubled", "lost"}),
        (lambda jobs, arrived: arrived[("phone", "a-1")].append("j9"), {"doubled", "foreign"}),
    ],
    ids=["job lost", "not pushed", "not finished", "two jobs", "two ids"],
)
def test_the_comparison_of_pushes_finds(plant, expected):
    messages, jobs, arrived = pushes()
    plant(jobs, arrived)
    found = check_pushes(messages, jobs, arrived)
    assert {name for name, lines in vars(found).items() if lines} == expected, str(found)


def test_the_time_to_the_first_acknowledgement_counts_requests_after_the_fault():
    ledger = Ledger(sent={"a": "tea", "b": "tea"})
    ledger.times += [(9.0, 8.9), (10.1, 9.9), (13.0, 12.5)]
    assert ledger.first_after(10.0, 1) == 13.0
    assert ledger.silence(10.0, 14.0, 1) == pytest.approx(2.9)
    assert ledger.first_after(time.monotonic(), 0) is None


@pytest.fixture
def files(tmp_path):
    """Two files with the same rows, which were written in different orders."""
    paths = [tmp_path / "one.db", tmp_path / "two.db"]
    for path, order in zip(paths, ((1, 2), (2, 1))):
        with closing(sqlite3.connect(path)) as database:
            database.execute("CREATE TABLE rooms (id INTEGER PRIMARY KEY AUTOINCREMENT, name BLOB)")
            database.execute("CREATE TABLE installation (id INTEGER PRIMARY KEY)")
            for id in order:
                database.execute("INSERT INTO rooms VALUES (?, ?)", (id, f"room{id}"))
            database.execute("INSERT INTO installation VALUES (?)", (order[0],))
            database.commit()
    return paths


def test_files_with_the_same_rows_are_equal(files):
    one, two = map(contents, files)
    assert one == two and one.counts["rooms"] == 2 and "installation" not in one.counts
    assert differences(*files) == []


@pytest.mark.parametrize(
    "change, table",
    [
        ("UPDATE rooms SET name = CAST(name AS BLOB) WHERE id = 1", "rooms"),
        ("DELETE FROM rooms WHERE id = 2", "rooms"),
        ("CREATE TABLE more (id INTEGER PRIMARY KEY)", "more"),
    ],
)
def test_a_changed_row_is_found(files, change, table):
    with closing(sqlite3.connect(files[1])) as database:
        database.execute(change)
        database.commit()
    assert contents(files[0]).hashes != contents(files[1]).hashes
    assert any(table in line for line in differences(*files))
