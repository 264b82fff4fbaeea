# SPDX-License-Identifier: Apache-2.0
"""Adds to each operation of the OpenAPI document a sentence about its callers."""

NAMES = {
    "token": "a user's token",
    "apiKey": "an API key",
    "reportKey": "a device's report key",
    "openMode": "`X-Stillwire-User` in open mode",
}
METHODS = ("get", "put", "post", "patch", "delete")


def described(document: dict) -> dict:
    """The document with the callers in the descriptions. The reference page shows no other list of them."""
    for path in document["paths"].values():
        for operation in (path[method] for method in METHODS if method in path):
            text = sentence(operation.get("security", document.get("security", [])))
            operation["description"] = "\n\n".join(filter(None, [operation.get("description"), text]))
    return document


def sentence(security: list[dict]) -> str:
    """The ways in which a caller may identify itself. An empty entry means that a caller need not do so."""
    names = [NAMES[name] for entry in security for name in entry]
    if not names:
        return "**Callers:** anybody."
    return f"**Callers:** {', '.join(names)}." + (" Open mode needs no header." if {} in security else "")
