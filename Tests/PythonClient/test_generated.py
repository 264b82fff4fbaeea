# SPDX-License-Identifier: Apache-2.0
"""The generated files belong to the OpenAPI document, and their types are correct."""

import subprocess
import sys
from typing import Any

import generate
from relay import CHECKOUT, DEADLINE
from stillwire import AsyncStillwire, Stillwire, errors

PACKAGE = CHECKOUT / "Sources" / "StillwirePython"
COMMAND = ".build/debug/stillwire document openapi | python3 Sources/StillwirePython/generate.py"
#: The methods that are no operations.
OTHERS = {"close", "with_options", "iterate_messages", "iterate_members", "iterate_pushes"}
#: The operations without a method, with the reason.
WITHOUT = {"connect": "a WebSocket, which is the clients' of apps"}
#: The error codes without a class, with the reason.
WITHOUT_CLASS = {"superseded": "the relay sends it only in reply to the frame `join`"}


def test_the_generated_files_are_those_of_the_document(document: dict[str, Any]) -> None:
    outdated = [
        name for name, text in generate.generated(document).items() if (generate.PACKAGE / name).read_text() != text
    ]
    assert outdated == [], f"the OpenAPI document has changed: run `{COMMAND}`"


def test_a_changed_document_changes_the_generated_files(document: dict[str, Any]) -> None:
    before = generate.generated(document)
    document = {**document, "info": {**document["info"], "version": "9.9.9"}}
    after = generate.generated(document)
    assert [name for name in before if before[name] != after[name]] == ["version.py"]


def test_each_operation_is_a_method(document: dict[str, Any]) -> None:
    operations = {
        details["operationId"]
        for methods in document["paths"].values()
        for method, details in methods.items()
        if method != "parameters"
    }
    expected = {generate.snake(operation) for operation in operations - set(WITHOUT)} | OTHERS
    for client in (Stillwire, AsyncStillwire):
        assert {name for name in dir(client) if not name.startswith("_")} == expected


def test_each_error_code_has_a_class(document: dict[str, Any]) -> None:
    codes = document["components"]["schemas"]["ErrorCode"]["enum"]
    assert set(errors.BY_CODE) == {"", *codes} - set(WITHOUT_CLASS)


def test_names_of_the_document_become_names_of_python() -> None:
    names = ("replyTo", "from", "getOpenAPI", "avatarSHA256", "getWebPushKey", "id", "voipToken")
    assert [generate.snake(name) for name in names] == [
        "reply_to", "from_", "get_open_api", "avatar_sha256", "get_web_push_key", "id", "voip_token"
    ]  # fmt: skip


def test_the_types_pass_mypy_and_its_callers_are_checked() -> None:
    """mypy accepts the package and correct code of a backend, and refuses each line with a mistake."""
    use = CHECKOUT / "Tests" / "PythonClient" / "use.py"
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--warn-unused-ignores", "--cache-dir",
         CHECKOUT / ".build" / "mypy", "--config-file", PACKAGE / "pyproject.toml", "--package", "stillwire",
         "--module", "use"],
        cwd=PACKAGE, capture_output=True, text=True, timeout=6 * DEADLINE,
        env={"MYPYPATH": f"{PACKAGE / 'src'}:{use.parent}", "PATH": ""},
    )  # fmt: skip
    assert checked.returncode == 0, checked.stdout + checked.stderr
