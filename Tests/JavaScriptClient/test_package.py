# SPDX-License-Identifier: Apache-2.0
"""The npm package of the client: its files, its types, and its use in Node and in bundles."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from api import history
from programs import HERE, NODE, output
from relay import CHECKOUT, DEADLINE, Relay, run, running
from waiting import eventually

CLIENT = CHECKOUT / "web" / "client"
#: The client of the package's README, for any URL.
README = re.search(r"```js\n(.*?)```", (CLIENT / "README.md").read_text(), re.DOTALL)[1]
URL = "'ws://localhost:8080/v1/connect'"


def modules(name: str = "stillwire.js") -> set[str]:
    """Returns a module and all modules that it imports."""
    found = {name}
    for imported in re.findall(r"from '\./([\w-]+\.js)'", (CLIENT / name).read_text()):
        found |= modules(imported) - found
    return found


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of an app, which has installed the package from its tarball without the network."""
    folder = tmp_path_factory.mktemp("app")
    npm = {**os.environ, "npm_config_cache": str(folder / ".npm"), "npm_config_offline": "true"}
    (tarball,) = json.loads(output("npm", "pack", "--json", CLIENT, folder=folder, **npm))
    assert {file["path"] for file in tarball["files"]} == modules() | {
        "stillwire.d.ts", "package.json", "README.md", "LICENSE"
    }  # fmt: skip
    (folder / "package.json").write_text('{"type": "module"}')
    output("npm", "install", "--no-audit", "--no-fund", f"./{tarball['filename']}", folder=folder, **npm)
    return folder


@pytest.fixture(scope="module")
def relay(tmp_path_factory: pytest.TempPathFactory, app: Path) -> Iterator[Relay]:
    """A relay that serves the pages of the app."""
    pages = app / "pages"
    pages.mkdir()
    (pages / "index.html").write_text("<!doctype html><script type=module src=bundle.js></script>")
    with running(tmp_path_factory.mktemp("relay"), "--web", pages) as relay:
        yield relay


def texts(relay: Relay) -> list[str]:
    return [message["body"]["text"] for message in history(relay, "tea", "ann")]


def test_the_package_has_the_products_version_and_licence() -> None:
    assert json.loads((CLIENT / "package.json").read_text())["version"] == run("--version").stdout.strip()
    assert (CLIENT / "LICENSE").read_bytes() == (CHECKOUT / "LICENSE").read_bytes()


def test_a_program_for_node_imports_the_package_by_its_name(app: Path, relay: Relay) -> None:
    program = README.replace(URL, "process.argv[2]").replace("Kettle is on", "Hello from Node")
    (app / "hello.js").write_text(program + "relay.close()\n")
    address = relay.origin.replace("http", "ws") + "/v1/connect"
    assert output(*NODE, "hello.js", address, folder=app) == "ann: Hello from Node\n"


@contextmanager
def browser(folder: Path, url: str) -> Iterator[None]:
    """Opens a page in a browser until the end of the context."""
    process = subprocess.Popen(
        ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
         f"--user-data-dir={folder}", url],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield
    finally:
        process.terminate()
        process.wait(DEADLINE)


def test_a_bundle_of_the_package_runs_in_a_browser(app: Path, relay: Relay, tmp_path: Path) -> None:
    program = README.replace(URL, "new URL('/v1/connect', location.href.replace('http', 'ws'))")
    (app / "page.js").write_text(program.replace("Kettle is on", "Hello from a browser"))
    output("esbuild", "page.js", "--bundle", "--format=esm", "--outfile=pages/bundle.js", folder=app)
    # The relay reads the files at its start.
    relay.stop()
    relay.start()
    with browser(tmp_path, relay.origin):
        eventually(lambda: "Hello from a browser" in texts(relay))


def test_a_bundle_has_only_what_the_app_uses(app: Path) -> None:
    def bundle(code: str) -> str:
        (app / "small.js").write_text(code)
        return output("esbuild", "small.js", "--bundle", "--format=esm", folder=app)

    assert "class extends EventTarget" in bundle("import { Stillwire } from 'stillwire'; console.log(Stillwire)")
    assert "class extends" not in bundle("import { isSilenced } from 'stillwire'; console.log(isSilenced({}))")


def test_the_oldest_browsers_of_the_readme_have_the_syntax() -> None:
    readme = (CLIENT / "README.md").read_text()
    chrome, firefox, safari = (
        re.search(rf"\| {name} \| (\d+) and later \|", readme)[1] for name in ("Chrome and Edge", "Firefox", "Safari")
    )
    bundle = ("esbuild", "stillwire.js", "--bundle", "--format=esm")
    target = f"--target=chrome{chrome},firefox{firefox},safari{safari},edge{chrome},node18"
    # For an older browser, esbuild replaces the syntax.
    assert output(*bundle, target, folder=CLIENT) == output(*bundle, "--target=esnext", folder=CLIENT)


def test_the_types_accept_code_of_apps(app: Path) -> None:
    code = (HERE / "types" / "use.ts").read_text()
    (app / "use.ts").write_text(code.replace("../../../web/client/stillwire.js", "stillwire"))
    output("tsc", "--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom", "--module", "node16",
           "use.ts", folder=app)  # fmt: skip


def differences(folder: Path) -> list[str]:
    return output("node", HERE / "types" / "differences.mjs", folder, folder=HERE).splitlines()


def test_the_types_describe_each_export_and_each_member() -> None:
    assert differences(CLIENT) == []


def test_each_difference_of_the_types_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "client"
    shutil.copytree(CLIENT, folder)
    for file, old, new in (
        ("stillwire.js", "export { Reporter", "export const planted = 1\nexport { Reporter"),
        ("stillwire.js", ", noPresence, ", ", "),
        ("stillwire.d.ts", "  connect(): void\n", ""),
        ("room.js", "  edit(seq", "  change(seq"),
    ):
        text = (folder / file).read_text()
        assert text.count(old) == 1
        (folder / file).write_text(text.replace(old, new))
    assert set(differences(folder)) == {
        "the types lack planted",
        "the client lacks noPresence",
        "the types lack Stillwire.connect",
        "the types lack Room.change",
        "the client lacks Room.edit",
    }
