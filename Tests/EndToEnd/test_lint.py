# SPDX-License-Identifier: Apache-2.0
"""The linter of push payloads, over HTTP and on the command line."""

import json
import subprocess

import pytest

from api import call
from relay import DEADLINE, binary, environment

GOOD = '{"aps":{"alert":"Lunch?","sound":"a"}}'
#: A payload with a common mistake and the correct payload, by the rule that the mistake breaks.
FAULTS = {
    "typographic-quote": ('{“aps”:{“alert”:“Lunch?”,"sound":"a"}}', GOOD),
    "missing-comma": ('{"aps":{"alert":"Lunch?","sound":"a"}"own":1}', '{"aps":{"alert":"Lunch?","sound":"a"},"own":1}'),
    "flag-not-number": (
        '{"aps":{"alert":"Lunch?","sound":"a","mutable-content":"1"}}',
        '{"aps":{"alert":"Lunch?","sound":"a","mutable-content":1}}',
    ),
    "aps-key-outside": (
        '{"aps":{"alert":"Lunch?","sound":"a"},"thread-id":"tea"}',
        '{"aps":{"alert":"Lunch?","sound":"a","thread-id":"tea"}}',
    ),
}
HEADERS = {"apns-push-type": "alert", "apns-topic": "org.example.chat", "apns-priority": 10}


def lint(relay, payload, **fields):
    answer = call(relay, "POST", "/v1/pushes/lint", {"payload": payload} | fields, user="ann")
    assert answer.status == 200, answer
    return answer.json


def rules(report):
    return [finding["rule"] for finding in report["findings"]]


def run(*arguments, text=""):
    """Runs the command with a payload on its standard input."""
    return subprocess.run(
        [binary(), "lint", *map(str, arguments)],
        input=text if isinstance(text, bytes) else text.encode(),
        env=environment(),
        capture_output=True,
        timeout=DEADLINE,
    )


@pytest.mark.parametrize("rule", FAULTS)
def test_common_mistakes_are_found_and_corrected(relay, rule):
    text, meant = FAULTS[rule]
    report = lint(relay, text)
    assert set(rules(report)) == {rule}
    assert {finding["severity"] for finding in report["findings"]} == {"error"}
    assert all(finding["line"] == 1 and finding["words"] and finding["mend"] for finding in report["findings"])
    assert "payload" not in report
    lenient = lint(relay, text, lenient=True)
    assert {finding["severity"] for finding in lenient["findings"]} == {"warning"}
    assert lenient["payload"] == meant
    assert lint(relay, lenient["payload"])["findings"] == []


def test_a_value_is_checked_as_it_is_spelled(relay):
    body = b'{ "payload" : {"aps": {"alert":"Hi","sound":"a",\n "badge": -1.0}}, "own": 2 }'
    answer = call(relay, "POST", "/v1/pushes/lint", body, user="ann")
    (finding,) = answer.json["findings"]
    assert (finding["rule"], finding["at"], finding["line"], finding["column"]) == ("badge-range", "/aps/badge", 2, 11)
    assert rules(lint(relay, None)) == rules(lint(relay, [])) == ["not-an-object"]


def test_headers_are_checked_with_the_payload(relay):
    assert lint(relay, GOOD, headers=HEADERS)["findings"] == []
    report = lint(relay, GOOD, headers=HEADERS | {"apns-priority": "7", "apns-collapse-id": "é" * 33})
    assert [(finding["rule"], finding["header"]) for finding in report["findings"]] == [
        ("priority-value", "apns-priority"),
        ("collapse-id-length", "apns-collapse-id"),
    ]


def test_the_relays_own_pushes_have_no_findings(relay, circle):
    bob = circle.away("bob")
    circle.alice.send(circle.room, {"text": "Lunch?"})
    notification = bob.phone.ring("Lunch?")
    assert lint(relay, notification["payload"], headers=notification["headers"])["findings"] == []


@pytest.mark.parametrize(
    ("body", "status", "at"),
    [
        ({}, 422, "/payload"),
        ({"payload": GOOD, "headers": {"apns-id": []}}, 422, "/headers/apns-id"),
        ({"payload": GOOD, "headers": {str(number): "" for number in range(33)}}, 422, "/headers"),
        ({"payload": GOOD, "lenient": 1}, 422, "/lenient"),
        (b'{"payload":', 400, None),
    ],
)
def test_a_wrong_request_is_rejected(relay, body, status, at):
    answer = call(relay, "POST", "/v1/pushes/lint", body, user="ann")
    assert answer.status == status and answer.problem.get("at") == at


def test_the_length_of_a_text_is_limited(start):
    relay = start("--limits-frame", 262_144)
    for size, status in ((65_536, 200), (65_537, 413)):
        answer = call(relay, "POST", "/v1/pushes/lint", {"payload": "{" + " " * (size - 1)}, user="ann")
        assert answer.status == status
    assert answer.problem["at"] == "/payload"


def test_only_authenticated_callers_use_the_linter(start, secret):
    relay = start(secret=secret)
    assert call(relay, "POST", "/v1/pushes/lint", {"payload": GOOD}).status == 401
    assert call(relay, "POST", "/v1/pushes/lint", {"payload": GOOD}, token=relay.token("ann")).json == {"findings": []}
    assert call(relay, "GET", "/v1/pushes/lint", token=relay.token("ann")).status == 405


def test_the_command_prints_a_line_for_each_finding(tmp_path):
    file = tmp_path / "push.json"
    file.write_text('{\n  “aps”: {"sound": "Hi"\n  "badge": "1"}\n}\n')
    done = run(file)
    assert done.returncode == 1
    lines = done.stdout.decode().splitlines()
    assert [line.removeprefix(f"{file}:").split(": ")[0] for line in lines] == ["2:3", "2:24", "3:12"]
    assert [line.rsplit(" ", 1)[1] for line in lines] == ["[typographic-quote]", "[missing-comma]", "[number-as-text]"]
    assert "U+201C LEFT DOUBLE QUOTATION MARK" in lines[0]


def test_the_command_corrects_certain_mistakes():
    text, meant = FAULTS["typographic-quote"]
    done = run("-", "--lenient", text=text)
    assert (done.returncode, done.stdout.decode()) == (0, meant + "\n")
    assert done.stderr.decode().startswith("<stdin>:1:2: warning: ")
    done = run("-", "--lenient", text='{"aps":{"alert":"Hi}}')
    assert (done.returncode, done.stdout) == (1, b"")


def test_the_command_prints_the_json_of_the_route(relay):
    headers = ["--push-type", "alert", "--topic", "org.example.chat", "--priority", 10]
    for text, _ in FAULTS.values():
        done = run("-", "--json", "--lenient", *headers, text=text)
        assert done.returncode == 0
        assert json.loads(done.stdout) == lint(relay, text, headers=HEADERS, lenient=True)


@pytest.mark.parametrize(
    ("arguments", "text", "code", "rule"),
    [
        ((), GOOD, 0, None),
        ((), '{"aps":{"alert":"Hi"}}', 0, "no-sound"),
        ((), '{"aps":{"alert":"Hi","sound":"a","content-available":1}}', 0, "background-shows"),
        (("--topic", "x"), GOOD, 0, "push-type-missing"),
        (("--voip", "--topic", "x.voip", "--expiration", 0), '{"call":"c"}', 0, None),
        (("--push-type", "alert", "--topic", "x", "--collapse-id", "x" * 65), GOOD, 1, "collapse-id-length"),
        (("--push-type", "alert", "--topic", "x", "--apns-id", "1"), GOOD, 1, "push-id-form"),
        ((), b"\xff\x00", 1, "invalid-utf8"),
        ((), b" " * 70_000, 1, "text-too-long"),
        ((), "", 1, "text-empty"),
    ],
)
def test_the_exit_code_is_1_when_there_are_errors(arguments, text, code, rule):
    done = run("-", *arguments, text=text)
    assert done.returncode == code, done
    assert f"[{rule}]".encode() in done.stdout if rule else done.stdout == b""


def test_the_exit_code_is_2_if_the_file_cannot_be_read(tmp_path):
    for file in (tmp_path / "none.json", tmp_path):
        done = run(file)
        assert done.returncode == 2 and done.stdout == b"" and str(file).encode() in done.stderr
