# SPDX-License-Identifier: Apache-2.0
"""Writes the manual pages: one of the program, and one of each command. They contain the texts of `--help`.

Usage: stillwire --experimental-dump-help | manual.py VERSION FOLDER"""

import json
import os
import sys
import time
from pathlib import Path


def escaped(text: str) -> str:
    """The text as a line of roff, in which a leading point or quote has no meaning."""
    line = text.replace("\\", "\\e").replace("-", "\\-").replace("\n", "\n\\&")
    return f"\\&{line}" if line[:1] in (".", "'") else line


def name_of(argument: dict) -> str:
    """The argument as its user writes it: `-p, --port <n>`."""
    value = f"<{argument['valueName']}>"
    if argument["kind"] == "positional":
        return value + (" ..." if argument["isRepeating"] else "")
    names = ", ".join(("-" if name["kind"] == "short" else "--") + name["name"] for name in argument["names"])
    return names if argument["kind"] == "flag" else f"{names} {value}"


def synopsis(path: list[str], command: dict) -> list[str]:
    """The forms of a command: those of its commands, or its own."""
    inner = [one for one in command.get("subcommands", []) if one["commandName"] != "help"]
    if inner:
        return [line for one in inner for line in synopsis([*path, one["commandName"]], one)]
    places = [name_of(one) for one in command["arguments"] if one["kind"] == "positional" and one["shouldDisplay"]]
    return [" ".join(["\\fB" + escaped(" ".join(path)) + "\\fR", "[options]", *map(escaped, places)])]


def options(command: dict) -> list[str]:
    """The arguments below the titles of their groups."""
    lines, groups = [], {}
    for argument in command["arguments"]:
        if argument["shouldDisplay"]:
            groups.setdefault(argument.get("sectionTitle", "Options"), []).append(argument)
    for title, arguments in groups.items():
        lines.append(f".SS {escaped(title)}")
        for one in arguments:
            lines += [".TP", f"\\fB{escaped(name_of(one))}\\fR", escaped(one.get("abstract", ""))]
    return lines


def about(command: dict) -> list[str]:
    text = "\n\n".join(filter(None, [command["abstract"], command.get("discussion")]))
    return [line for paragraph in text.split("\n\n") for line in (".PP", escaped(paragraph))]


def page(path: list[str], command: dict, version: str, others: list[str]) -> str:
    date = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"])))
    inner = [one for one in command.get("subcommands", []) if one["commandName"] != "help"]
    short = command["abstract"].rstrip(".")
    lines = [f'.TH {"-".join(path).upper()} 1 {date} "stillwire {version}" "User Commands"']
    lines += [".SH NAME", f"{escaped('-'.join(path))} \\- {escaped(short[0].lower() + short[1:])}"]
    lines += [".SH SYNOPSIS", "\n.br\n".join(synopsis(path, command)), ".SH DESCRIPTION", *about(command)]
    if len(path) > 1:
        for one in inner:
            lines += [f".SH {escaped(' '.join([*path, one['commandName']]).upper())}", *about(one), *options(one)]
    lines += [".SH OPTIONS", *options(command)]
    if len(path) == 1:
        lines += [".SH FILES"]
        for name, text in FILES.items():
            lines += [".TP", f"\\fI{escaped(name)}\\fR", escaped(text)]
    lines += [".SH SEE ALSO", ",\n".join(f"\\fB{escaped(name)}\\fR(1)" for name in others)]
    return "\n".join(lines) + "\n"


FILES = {
    "/etc/stillwire/stillwire.env": "The settings of the service, with all variables.",
    "/etc/stillwire/secret": "The secret of tokens. The installation of the Debian package creates it.",
    "/var/lib/stillwire": "The data of the service.",
}


def main(version: str, folder: str) -> None:
    program = json.load(sys.stdin)["command"]
    commands = [one for one in program["subcommands"] if one["commandName"] != "help"]
    pages = {"stillwire": (["stillwire"], program)}
    pages |= {f"stillwire-{one['commandName']}": (["stillwire", one["commandName"]], one) for one in commands}
    for name, (path, command) in pages.items():
        others = [other for other in pages if other != name] if name == "stillwire" else ["stillwire"]
        (Path(folder) / f"{name}.1").write_text(page(path, command, version, others))


main(*sys.argv[1:])
