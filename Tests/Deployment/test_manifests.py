# SPDX-License-Identifier: Apache-2.0
"""The manifests for Kubernetes and the files for Docker Compose: their schemas, and the facts that they share with the
image and the relay."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from relay import CHECKOUT, DEADLINE, run
from tokens import secret_file

DEPLOY = CHECKOUT / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
KUSTOMIZATION = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())
IMAGE = (DEPLOY / "Dockerfile").read_text()
COMPOSE = [DEPLOY / "compose.yaml", DEPLOY / "compose.tls.yaml"]
#: The oldest and the newest release of Kubernetes that the validator knows, and one between them.
RELEASES = ("1.25", "1.30", "1.37")


def objects(*names: str) -> list[dict[str, Any]]:
    files = [KUBERNETES / name for name in names or KUSTOMIZATION["resources"]]
    return [document for file in files for document in yaml.safe_load_all(file.read_text())]


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [document for document in objects() if document["kind"] == kind]


def pod() -> dict[str, Any]:
    (stateful_set,) = of_kind("StatefulSet")
    return stateful_set["spec"]["template"]["spec"]


def container() -> dict[str, Any]:
    (made,) = pod()["containers"]
    return made


def check(environment: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Checks the settings of a container. Its paths exist in the container only."""
    assert environment["STILLWIRE_SECRET_FILE"].startswith("/run/secrets/")
    return run("serve", "--check", **environment | {"STILLWIRE_SECRET_FILE": str(secret_file(folder))})


@pytest.mark.parametrize("release", RELEASES)
def test_kubernetes_accepts_the_manifests(release: str) -> None:
    assert len(objects()) == 4
    for document in objects():
        kubernetes_validate.validate(document, release, strict=True)


def test_the_validation_finds_an_unknown_field() -> None:
    (stateful_set,) = of_kind("StatefulSet")
    stateful_set["spec"]["replica"] = 1
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(stateful_set, RELEASES[-1], strict=True)


def test_the_kustomization_has_each_file_and_the_image() -> None:
    listed = KUSTOMIZATION["resources"] + KUSTOMIZATION["configMapGenerator"][0]["files"]
    assert {file.name for file in KUBERNETES.iterdir()} == {*listed, "kustomization.yaml"}
    assert [image["name"] for image in KUSTOMIZATION["images"]] == [container()["image"]]


def test_the_pod_fits_the_image() -> None:
    user, group = map(int, re.search(r"^USER (\d+):(\d+)$", IMAGE, re.MULTILINE).groups())
    context = pod()["securityContext"]
    assert (context["runAsUser"], context["runAsGroup"], context["fsGroup"]) == (user, group, group)
    assert [port["containerPort"] for port in container()["ports"]] == [int(re.search(r"EXPOSE (\d+)", IMAGE).group(1))]
    mounts = {mount["name"]: mount["mountPath"] for mount in container()["volumeMounts"]}
    assert mounts["data"] == re.search(r"STILLWIRE_DATA=(\S+)", IMAGE).group(1)
    claims = {claim["metadata"]["name"] for claim in of_kind("StatefulSet")[0]["spec"]["volumeClaimTemplates"]}
    assert set(mounts) == {volume["name"] for volume in pod()["volumes"]} | claims


def test_the_objects_refer_to_each_other() -> None:
    (stateful_set,) = of_kind("StatefulSet")
    services = {service["metadata"]["name"]: service["spec"] for service in of_kind("Service")}
    assert stateful_set["spec"]["serviceName"] in services
    labels = stateful_set["spec"]["template"]["metadata"]["labels"]
    ports = {port["name"] for port in container()["ports"]}
    for service in services.values():
        assert service["selector"].items() <= labels.items()
        assert {port["targetPort"] for port in service["ports"]} <= ports
    (ingress,) = of_kind("Ingress")
    for rule in ingress["spec"]["rules"]:
        for path in rule["http"]["paths"]:
            backend = path["backend"]["service"]
            assert backend["port"]["name"] in {port["name"] for port in services[backend["name"]]["ports"]}
    (configuration,) = [volume["configMap"]["name"] for volume in pod()["volumes"] if "configMap" in volume]
    assert configuration == KUSTOMIZATION["configMapGenerator"][0]["name"]


def test_the_relay_accepts_the_settings_of_the_pod(tmp_path: Path) -> None:
    environment = {variable["name"]: variable["value"] for variable in container()["env"]}
    environment["STILLWIRE_CONFIG"] = str(KUBERNETES / Path(environment["STILLWIRE_CONFIG"]).name)
    checked = check(environment, tmp_path)
    assert checked.returncode == 0 and "no effect" not in checked.stderr, checked.stderr
    # The relay would otherwise be killed before it has stopped.
    assert pod()["terminationGracePeriodSeconds"] >= 30


def schema(*files: Path) -> subprocess.CompletedProcess[str]:
    """Compares files with the schema of the Compose specification."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE)


def test_compose_accepts_the_files(tmp_path: Path) -> None:
    checked = schema(*COMPOSE)
    assert checked.returncode == 0, checked.stdout
    wrong = tmp_path / "compose.yaml"
    wrong.write_text(COMPOSE[1].read_text().replace("cap_drop", "cap_drops"))
    assert "cap_drops" in schema(wrong).stdout


def test_the_relay_accepts_the_settings_of_the_containers(tmp_path: Path) -> None:
    environment: dict[str, str] = {}
    for file in COMPOSE:
        environment |= yaml.safe_load(file.read_text())["services"]["stillwire"]["environment"]
    checked = check(environment, tmp_path)
    assert checked.returncode == 0 and "no effect" not in checked.stderr, checked.stderr


def test_caddy_leads_to_the_relay() -> None:
    relay, caddy = (yaml.safe_load(file.read_text()) for file in COMPOSE)
    text = (DEPLOY / "Caddyfile").read_text()
    (port,) = relay["services"]["stillwire"]["ports"]
    assert f"reverse_proxy stillwire:{port.rpartition(':')[2]} " in text
    assert re.search(r"^\{\$(\w+)\} \{$", text, re.MULTILINE).group(1) in caddy["services"]["caddy"]["environment"]
    # The relay trusts the header of the network in which Caddy is.
    (pool,) = caddy["networks"]["default"]["ipam"]["config"]
    assert caddy["services"]["stillwire"]["environment"]["STILLWIRE_TRUSTED_PROXIES"] == pool["subnet"]
