# SPDX-License-Identifier: Apache-2.0
"""Tests the patterns of the scripts. A case that cannot fail proves nothing."""

import re
from pathlib import Path
from typing import Any

import pytest

from match import Mismatch, filled, match

TAKEN = {"known": 7}


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ({}, {"more": 1}),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}),
        ([1, {"a": 2}], [1, {"a": 2, "b": 3}]),
        ({"a": {"$any": True}}, {"a": None}),
        ({"a": {"$absent": True}}, {}),
        ({"a": {"$is": "known"}}, {"a": 7}),
        ({"a": {"$not": {"$is": "known"}}}, {"a": 8}),
        ({"a": {"$between": [1, 2]}}, {"a": 1.5}),
        ({"a": None}, {"a": None}),
    ],
)
def test_a_pattern_accepts(pattern: Any, value: Any) -> None:
    match(pattern, value, dict(TAKEN))


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ({"a": 1}, {}),
        ({"a": None}, {}),
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"a": True}),
        ({"a": False}, {"a": 0}),
        ({"a": "1"}, {"a": 1}),
        ({"a": {}}, {"a": 1}),
        ([1], [1, 2]),
        ([1, 2], [1]),
        ([], {}),
        ({"a": {"$any": True}}, {}),
        ({"a": {"$absent": True}}, {"a": None}),
        ({"a": {"$is": "known"}}, {"a": 8}),
        ({"a": {"$not": 7}}, {"a": 7}),
        ({"a": {"$between": [1, 2]}}, {"a": 2.1}),
        ({"a": {"$between": [1, 2]}}, {"a": "1"}),
        ({"a": "$name"}, {}),
        ({"a": {"b": 1}}, None),
    ],
)
def test_a_pattern_refuses(pattern: Any, value: Any) -> None:
    with pytest.raises(Mismatch):
        match(pattern, value, dict(TAKEN))


def test_a_pattern_replaces_and_inserts_values() -> None:
    taken = dict(TAKEN)
    match({"a": "$known", "b": ["$other"]}, {"a": 1, "b": [[2]]}, taken)
    assert filled({"x": "$known", "y": ["$other"]}, taken) == {"x": 1, "y": [[2]]}
    assert filled("$unknown", taken, is_strict=False) == "$unknown"
    with pytest.raises(AssertionError):
        filled("$unknown", taken)


def test_an_unknown_operator_is_an_error() -> None:
    with pytest.raises(AssertionError, match="no such pattern"):
        match({"$like": 1}, 1, {})


def test_the_guide_lists_every_script_and_every_output() -> None:
    folder = Path(__file__).parent
    guide = (folder / "README.md").read_text()
    scripts = {file.stem for file in (folder / "scripts").glob("*.json")}
    listed = re.search(r"scripts in this order: (.*?)\.\n", guide, re.DOTALL)
    assert listed and sorted(re.findall(r"`(\w+)`", listed[1])) == sorted(scripts)
    rows = re.findall(r"^\| (`.*?) \|", guide.split("| output (`app`) |")[1].split("## A script")[0], re.MULTILINE)
    described = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    texts = [file.read_text() for file in [folder / "parts.json", *(folder / "scripts").glob("*.json")]]
    used = {name for text in texts for name in re.findall(r'"app": "(\w+)"', text)}
    assert used and used <= described, used - described
