# SPDX-License-Identifier: Apache-2.0
"""Partial patterns for JSON. A pattern can store values, and compare values with stored ones."""

from typing import Any

ABSENT = object()


class Mismatch(AssertionError):
    """A value does not match its pattern."""


def match(pattern: Any, value: Any, taken: dict[str, Any], place: str = "") -> None:
    """Raises `Mismatch` unless `value` matches `pattern`. Stores the values that the pattern names in `taken`."""
    if isinstance(pattern, str) and pattern.startswith("$"):
        if value is ABSENT:
            raise Mismatch(f"{place} is absent")
        taken[pattern[1:]] = value
    elif isinstance(pattern, dict):
        operators = [key for key in pattern if key.startswith("$")]
        if operators:
            _operate(operators[0], pattern[operators[0]], value, taken, place)
            return
        if not isinstance(value, dict):
            raise Mismatch(f"{place or 'it'} is not an object: {_shown(value)}")
        for key, inner in pattern.items():
            match(inner, value.get(key, ABSENT), taken, f"{place}.{key}")
    elif isinstance(pattern, list):
        if not isinstance(value, list) or len(value) != len(pattern):
            raise Mismatch(f"{place} is not {pattern!r}: {_shown(value)}")
        for index, inner in enumerate(pattern):
            match(inner, value[index], taken, f"{place}[{index}]")
    elif value is ABSENT or isinstance(value, bool) != isinstance(pattern, bool) or value != pattern:
        raise Mismatch(f"{place or 'it'} is not {pattern!r}: {_shown(value)}")


def filled(template: Any, known: dict[str, Any], *, is_strict: bool = True) -> Any:
    """Returns `template` with the values of its names. Without `is_strict`, unknown names remain unchanged."""
    if isinstance(template, str) and template.startswith("$"):
        if template[1:] in known:
            return known[template[1:]]
        if is_strict:
            raise AssertionError(f"{template} has no value")
        return template
    if isinstance(template, dict):
        return {key: filled(inner, known, is_strict=is_strict) for key, inner in template.items()}
    if isinstance(template, list):
        return [filled(inner, known, is_strict=is_strict) for inner in template]
    return template


def _operate(operator: str, operand: Any, value: Any, taken: dict[str, Any], place: str) -> None:
    if operator == "$any":
        holds = value is not ABSENT
    elif operator == "$absent":
        holds = value is ABSENT
    elif operator == "$is":
        holds = value == taken[operand]
    elif operator == "$between":
        holds = isinstance(value, (int, float)) and operand[0] <= value <= operand[1]
    elif operator == "$not":
        try:
            match(operand, value, dict(taken), place)
            holds = False
        except Mismatch:
            holds = True
    else:
        raise AssertionError(f"no such pattern: {operator}")
    if not holds:
        raise Mismatch(f"{place} is not {operator} {operand!r}: {_shown(value)}")


def _shown(value: Any) -> str:
    return "absent" if value is ABSENT else repr(value)[:300]
