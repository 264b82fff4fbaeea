# SPDX-License-Identifier: Apache-2.0
"""The configuration file: its effect, the precedence of other sources, and its errors."""

import os

import pytest

from relay import checked, run


@pytest.fixture
def check(tmp_path):
    """Checks a configuration, which is a value or a text, and returns the ended process."""

    def check(configuration, *options, **settings):
        return checked(tmp_path, configuration, *options, **settings)

    return check


@pytest.fixture
def refusal(check):
    """Returns the error message for a wrong configuration. It must be one line."""

    def refusal(configuration):
        ended = check(configuration)
        assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (1, "", 1), ended
        return ended.stderr

    return refusal


def test_a_file_sets_the_same_as_options(start, connect):
    configuration = {"limits": {"sendRate": 7, "heartbeat": 2.5}, "origins": ["https://a.example"]}
    welcome = connect(start(configuration=configuration), "alice").welcome
    assert (welcome["limits"]["sendRate"], welcome["heartbeat"]) == (7, 2.5)


def test_the_command_line_precedes_the_environment_and_the_file(check):
    configuration = {"limits": {"sendRate": 1, "history": 1, "watched": 1}}
    ended = check(configuration, "--limits-send-rate", 3, STILLWIRE_LIMITS_SEND_RATE="2", STILLWIRE_LIMITS_HISTORY="2")
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert "limits.sendRate = 3  (command line)" in lines
    assert "limits.history = 2  (environment)" in lines
    assert any(line.startswith("limits.watched = 1  (") and "stillwire.json" in line for line in lines)


def test_the_environment_names_the_file(tmp_path):
    file = tmp_path / "stillwire.json"
    file.write_text('{"limits":{"watched":5}}')
    ended = run("serve", "--check", STILLWIRE_CONFIG=str(file))
    assert ended.returncode == 0 and "limits.watched = 5" in ended.stdout


def test_the_check_prints_the_entries_of_lists(check, tmp_path):
    (tmp_path / "secret").write_text("6f1d0c8e4b7a2935d1e0f7a6b5c4d3e2f1a0b9c8d7e6f5a4")
    (tmp_path / "secret").chmod(0o600)
    key = {"kid": "a", "algorithm": "HS256", "file": "secret"}
    rooms = [{"match": "b*", "history": {"count": 5}, "can": ["join"]}, {"match": "a", "push": False}]
    configuration = {"tokens": {"keys": [key]}, "rooms": rooms}
    by = f"  ({tmp_path}/stillwire.json)"
    assert check(configuration).stdout.splitlines() == [
        'rooms = {"can":["join"],"history":{"count":5},"match":"b*"}' + by,
        'rooms = {"match":"a","push":false}' + by,
        f'tokens.keys = {{"algorithm":"HS256","file":"{tmp_path}/secret","kid":"a"}}' + by,
    ]
    ended = check(configuration, "--tokens-keys", f"HS256:b:{tmp_path}/secret")
    assert ended.stdout.count("tokens.keys") == 1 and f"HS256:b:{tmp_path}" in ended.stdout


def test_paths_are_relative_to_the_file(check, tmp_path):
    (tmp_path / "secret").write_text("6f1d0c8e4b7a2935d1e0f7a6b5c4d3e2f1a0b9c8d7e6f5a4")
    (tmp_path / "secret").chmod(0o600)
    ended = check({"data": "here", "tokens": {"secretFile": "secret"}})
    assert ended.returncode == 0, ended.stderr
    assert f"data = {tmp_path}/here " in ended.stdout
    assert not (tmp_path / "here").exists()


@pytest.mark.parametrize(
    "configuration, position, words",
    [
        ({"limits": {"sendrate": 1}}, "/limits/sendrate", "did you mean sendRate?"),
        ({"texts": [{"language": "de", "messages": "%@ in %@"}]}, "/texts/0/messages", "at most 1"),
        ({"port": 70000}, "port", "65535"),
        ({"tokens": {"secretFile": "nowhere"}}, "nowhere", ""),
        ('{\n  "port": 1, // no\n}', "stillwire.json:2:14", "not JSON"),
        ('{"port":1,"port":2}', "stillwire.json:1:", "twice"),
        ("[]", "stillwire.json", "must be an object"),
        ("", "stillwire.json", "not JSON"),
        (" " * (1 << 20) + "{}", "stillwire.json", "1048576"),
    ],
)
def test_an_error_is_reported_with_its_position(refusal, configuration, position, words):
    line = refusal(configuration)
    assert position in line and words in line, line


def test_a_number_that_is_not_decimal_is_an_error(check):
    for ended in (check({}, "--port", "0x50"), check({}, STILLWIRE_PORT="0x50")):
        assert (ended.returncode, ended.stdout) == (1, "")
        assert ended.stderr == "stillwire: port must be a whole number from 0 to 65535, not 0x50\n"


@pytest.mark.parametrize("setting", ["config", "secret-file", "tokens-jwks-file", "api-keys-file", "cluster-ca-file"])
def test_the_relay_reads_no_file_that_is_not_regular(tmp_path, setting):
    """`SettingTests` and `ConfigurationFileTests` prove the same of folders and devices."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    ended = run("serve", "--check", f"--{setting}", pipe)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert f"{pipe} cannot be read: it is a named pipe, and not a regular file" in ended.stderr


def test_the_relay_reads_no_file_of_a_list_that_is_not_regular(refusal, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    line = refusal({"tokens": {"keys": [{"algorithm": "ES256", "file": "pipe"}]}})
    assert f"tokens.keys: {tmp_path}/pipe cannot be read: it is a named pipe" in line
    credential = {"keyFile": "pipe", "keyID": "ABCDE12345", "team": "ABCDE12345"}
    line = refusal({"apps": [{"app": "org.example.app", "credential": credential}]})
    assert f"/apps/0/credential/keyFile: {tmp_path}/pipe cannot be read: it is a named pipe" in line


def test_a_missing_file_is_an_error(tmp_path):
    ended = run("serve", "--config", tmp_path / "none.json", "--data", tmp_path / "data")
    assert ended.returncode == 1 and "none.json" in ended.stderr
    assert not (tmp_path / "data").exists()


def test_the_reference_lists_keys_that_the_check_accepts(check):
    page = run("reference").stdout
    assert "| `limits.sendRate` | `--limits-send-rate` | `STILLWIRE_LIMITS_SEND_RATE` |" in page
    assert check({"limits": {"sendRate": 7}}).returncode == 0
