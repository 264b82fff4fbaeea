# SPDX-License-Identifier: Apache-2.0
"""The project description of the sample app: its targets have what Apple's systems and the article require."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from relay import CHECKOUT, DEADLINE, binary, running

APP = CHECKOUT / "Tests/Apps/ios"
PROJECT = yaml.safe_load((APP / "project.yml").read_text())
ARTICLE = (CHECKOUT / "Sources/StillwireClient/StillwireClient.docc/SettingUpAnApp.md").read_text()
#: The names of the targets in the article.
NAMES = {"the app": "Chat", "app": "Chat", "service extension": "Service", "Intents extension": "Focus",
         "filter extension": "Filter"}  # fmt: skip
#: The extension points of Apple's documentation, and the key of the Info.plist that has them.
POINTS = {
    "Service": ("NSExtension", "NSExtensionPointIdentifier", "com.apple.usernotifications.service"),
    "Focus": ("NSExtension", "NSExtensionPointIdentifier", "com.apple.intents-service"),
    "Filter": ("EXAppExtensionAttributes", "EXExtensionPointIdentifier", "com.apple.appintents-extension"),
}


def table(heading: str) -> list[dict[str, str]]:
    """The first table below a heading of the article, one row after the other, by the names of the columns."""
    section = ARTICLE.split(f"### {heading}\n")[1].split("\n### ")[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    columns, _, *rows = [[cell.strip() for cell in line] for line in lines]
    assert rows
    return [dict(zip(columns, row, strict=True)) for row in rows]


def target(name: str) -> dict[str, Any]:
    """A target with the fields of its templates."""
    own = PROJECT["targets"][name]
    fields: dict[str, Any] = {}
    for template in own.get("templates", []):
        fields |= PROJECT["targetTemplates"][template]
    return fields | own


def source(name: str) -> str:
    """The sources of a target."""
    files = [file for folder in target(name)["sources"] for file in sorted((APP / folder).glob("*.swift"))]
    assert files
    return "\n".join(file.read_text() for file in files)


def lines(text: str) -> int:
    """The number of lines with code."""
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith("//"))


def keys(value: Any) -> set[str]:
    """The keys of an object and of all objects in it."""
    if not isinstance(value, dict):
        return set()
    return set(value) | {key for inner in value.values() for key in keys(inner)}


def test_the_app_contains_three_extensions() -> None:
    assert list(PROJECT["targets"]) == ["Chat", *POINTS]
    assert target("Chat")["type"] == "application"
    embedded = [dependency["target"] for dependency in target("Chat")["dependencies"] if "target" in dependency]
    assert embedded == list(POINTS)
    app = target("Chat")["settings"]["PRODUCT_BUNDLE_IDENTIFIER"]
    for name in POINTS:
        # Apple requires that the bundle id of an extension begins with that of its app.
        assert target(name)["settings"]["PRODUCT_BUNDLE_IDENTIFIER"].startswith(f"{app}."), name
    assert f'app: "{app}"' in source("Chat")


def test_each_target_has_the_product_of_the_article() -> None:
    for row in table("The four targets"):
        name = NAMES[row["target"]]
        (product,) = (d["product"] for d in target(name)["dependencies"] if "product" in d)
        assert f"`{product}`" == row["product of the package"], name


@pytest.mark.parametrize("name", POINTS)
def test_an_extension_has_its_point_and_its_class(name: str) -> None:
    outer, key, point = POINTS[name]
    attributes = target(name)["info"]["properties"][outer]
    assert attributes[key] == point
    if name == "Filter":
        assert target(name)["type"] == "extensionkit-extension"
        assert re.search(r"@main struct \w+: AppIntentsExtension", source(name))
    else:
        assert target(name)["type"] == "app-extension"
        module, _, principal = attributes["NSExtensionPrincipalClass"].partition(".")
        assert module == "$(PRODUCT_MODULE_NAME)"
        assert re.search(rf"^nonisolated final class {principal}: ", source(name), re.MULTILINE)


def test_the_entitlements_are_those_of_the_article() -> None:
    described: dict[str, set[str]] = {name: set() for name in PROJECT["targets"]}
    for row in table("Capabilities"):
        entitlement = re.fullmatch(r"`([\w.-]+)`", row["entitlement"])
        names = list(described) if row["targets"] == "all four" else [NAMES[n] for n in row["targets"].split(", ")]
        if entitlement:
            for name in names:
                described[name].add(entitlement[1])
        else:
            key = re.fullmatch(r"key `(\w+)` of the Info.plist", row["entitlement"])
            assert key and all(key[1] in target(name)["info"]["properties"] for name in names), row
    assert {name: set(target(name)["entitlements"]["properties"]) for name in described} == described
    groups = {tuple(target(name)["entitlements"]["properties"]["com.apple.security.application-groups"])
              for name in described}  # fmt: skip
    ((group,),) = groups
    assert f'AppGroup(\n  "{group}"' in source("Chat")


def test_the_info_plists_have_the_keys_of_the_article() -> None:
    for row in table("Info.plist"):
        properties = target(NAMES[row["target"]])["info"]["properties"]
        for key in re.findall(r"`(\w+)`", row["key"]):
            assert key in keys(properties), row
        for value in re.findall(r"`([^`]+)`", row["value"]):
            assert value in str(properties), row


def test_the_app_may_receive_background_pushes_and_calls() -> None:
    assert target("Chat")["info"]["properties"]["UIBackgroundModes"] == ["remote-notification", "voip"]
    assert "CallReceiver" in source("Chat")


def test_the_article_states_the_lines_of_each_target() -> None:
    stated = {NAMES[row["target"]]: int(row["lines"]) for row in table("The four targets")}
    assert stated == {name: lines(source(name)) for name in PROJECT["targets"]}
    folders = {folder for name in PROJECT["targets"] for folder in target(name)["sources"]}
    total = sum(lines(file.read_text()) for folder in folders for file in (APP / folder).glob("*.swift"))
    assert f"{total} lines of code together" in ARTICLE
    assert total <= 160


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", ARTICLE, re.DOTALL)


def test_the_commands_of_the_article_work(tmp_path: Path) -> None:
    secret, token, check = blocks("sh")

    def shell(script: str) -> str:
        """Runs a script as the reader does, in one folder. Variables without a value are errors."""
        script = f'stillwire() {{ "{binary()}" "$@"; }}\n{script}'
        played = subprocess.run(["bash", "-eu", "-c", script], cwd=tmp_path, capture_output=True, text=True,
                                timeout=DEADLINE)  # fmt: skip
        assert played.returncode == 0, played.stdout + played.stderr
        return played.stdout

    shell(secret)
    assert shell(token).count(".") == 2
    options = ("--secret-file", tmp_path / "secret", "--api-keys-file", tmp_path / "api-keys")
    with running(tmp_path, *options) as relay:
        sent = shell(check.replace("http://relay.local:8080", relay.origin))
    assert '"seq":1' in sent
    # The reader's shell keeps its own variables.
    assert not re.search(r"\b(for|read) (USER|HOME|PATH)\b", check)


def test_the_article_and_the_project_name_a_version_of_xcodegen_with_traits() -> None:
    # https://github.com/yonaskolb/XcodeGen/releases/tag/2.46.0
    for text in (ARTICLE, (APP / "project.yml").read_text()):
        assert "from 2.46.0 on" in text
        assert "2.45" not in text


def test_the_article_describes_a_relay_that_a_phone_reaches() -> None:
    for word in ("--address 0.0.0.0", "--open-to-network", "stillwire token", "relay.close()"):
        assert word in ARTICLE
    (keys_of_plist,) = (yaml.safe_load(block) for block in blocks("yaml"))
    assert keys_of_plist["NSAppTransportSecurity"] == {"NSAllowsLocalNetworking": True}
    assert "NSLocalNetworkUsageDescription" in keys_of_plist
