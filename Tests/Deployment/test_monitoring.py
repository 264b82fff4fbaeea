# SPDX-License-Identifier: Apache-2.0
"""A Prometheus with the configuration of `deploy/prometheus` scrapes the nodes of a cluster.

The leader of a cluster exports all metrics: those of a single relay, and those of a node. Each query of the dashboard
must find samples, and the page about metrics must have each metric, and no other.
"""

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from certificates import write_key
from harness.processes import Program, free_port
from harness.topology import Cluster
from relay import CHECKOUT, api_key
from rules import CONFIGURATION, DASHBOARD, RULES, alerts, program
from tokens import secret_file
from waiting import eventually

PAGE = (CHECKOUT / "web" / "docs" / "reference" / "metrics.md").read_text()
GUIDE = (CHECKOUT / "web" / "docs" / "guides" / "monitoring.md").read_text()
#: The scope of the guide for the key of Prometheus.
SCOPE = json.loads(re.search(r"```json\n(.*?)```", GUIDE, re.DOTALL).group(1))["apiKeyScopes"]


class Prometheus(Program):
    """Prometheus on loopback. It scrapes every 200 ms, because the tests wait for its samples."""

    def __init__(self, folder: Path, targets: list[str], key: str):
        super().__init__(folder, "prometheus")
        self.port = free_port()
        (folder / "stillwire.key").write_text(key)
        configuration = yaml.safe_load(CONFIGURATION.read_text())
        (job,) = configuration["scrape_configs"]
        (job["static_configs"][0]["targets"],) = [targets]
        job["authorization"]["credentials_file"] = str(folder / "stillwire.key")
        configuration["global"] = {"scrape_interval": "200ms", "evaluation_interval": "200ms"}
        configuration["rule_files"] = [str(RULES.parent / name) for name in configuration["rule_files"]]
        (folder / "prometheus.yml").write_text(yaml.safe_dump(configuration))

    def start(self) -> "Prometheus":
        self.launch([
            program("prometheus"),
            f"--config.file={self.folder}/prometheus.yml",
            f"--storage.tsdb.path={self.folder}/samples",
            f"--web.listen-address=127.0.0.1:{self.port}",
        ])
        eventually(lambda: self._is_ready() or not self.is_running)
        assert self.is_running, self.tail()
        return self

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=5):
                return True
        except OSError:
            return False

    def get(self, path: str, **query: str) -> Any:
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{query}: {error.read().decode()}") from None

    def query(self, query: str) -> list[dict[str, Any]]:
        return self.get("query", query=query)["result"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A node that leads and a standby, with all gateways."""
    folder = tmp_path_factory.mktemp("cluster")
    write_key(folder / "key.pem")
    (folder / "zones").mkdir()
    credential = {"keyFile": str(folder / "key.pem"), "keyID": "KEY4567890", "team": "TEAM567890"}
    configuration = {
        "apiKeysFile": str(folder / "api-keys"),
        # Without zone files, the metric of their version has the value that an alert selects.
        "zoneFolder": str(folder / "zones"),
        "apiKeyScopes": SCOPE,
        "apps": [
            {"app": "org.example.chat", "credential": credential},
            {"app": "org.example.chat.android", "matrix": {"url": "http://127.0.0.1:9/_matrix/push/v1/notify"}},
        ],
        "webPush": {"keyFile": str(folder / "key.pem"), "subject": "mailto:ops@example.org"},
    }
    key = api_key(folder / "api-keys", "prometheus", "--scope", SCOPE[0]["scope"])
    (folder / "prometheus.key").write_text(key)
    options = ("--secret-file", secret_file(folder))
    with Cluster(folder, *options, servers=1, nodes=2, configuration=configuration) as made:
        yield made


@pytest.fixture(scope="module")
def prometheus(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    targets = [node.url.removeprefix("http://") for node in cluster.nodes]
    made = Prometheus(tmp_path_factory.mktemp("prometheus"), targets, (cluster.folder / "prometheus.key").read_text())
    try:
        yield made.start()
    finally:
        made.kill()


def panels() -> list[dict[str, Any]]:
    return [panel for panel in json.loads(DASHBOARD.read_text())["panels"] if panel["type"] != "row"]


def substituted(query: str) -> str:
    """The query with the variables of the dashboard, as Grafana sends it for all relays."""
    for name, value in {"$__rate_interval": "1m", "$job": ".*", "$instance": ".*"}.items():
        query = query.replace(name, value)
    assert "$" not in query, query
    return query


def test_each_target_is_scraped_with_the_api_key(prometheus: Prometheus) -> None:
    def are_up() -> bool:
        targets = prometheus.get("targets")["activeTargets"]
        return len(targets) == 2 and all(target["health"] == "up" for target in targets)

    eventually(are_up)


def test_each_query_of_the_dashboard_finds_samples(prometheus: Prometheus) -> None:
    """Also, the legend of each query has only labels that the samples have."""
    for panel in panels():
        for target in panel["targets"]:
            found = eventually(lambda: prometheus.query(substituted(target["expr"])), every=0.1)
            labels = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            assert all(labels <= set(series["metric"]) for series in found), (panel["title"], target)


def test_each_variable_of_the_dashboard_has_values(prometheus: Prometheus) -> None:
    for variable in json.loads(DASHBOARD.read_text())["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"]).groups()
            assert eventually(lambda: prometheus.query(f"group by ({label}) ({substituted(metric)})")), variable


def test_the_panels_of_the_dashboard_do_not_overlap() -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    used: set[tuple[int, int]] = set()
    for place in (panel["gridPos"] for panel in dashboard["panels"]):
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & used and place["x"] + place["w"] <= 24, place
        used |= cells


def test_the_page_has_each_metric_with_its_label(cluster: Cluster) -> None:
    key = (cluster.folder / "prometheus.key").read_text()

    def samples() -> str | None:
        """The text of the leader, as soon as the leader knows the replicas."""
        answer = cluster.leader().request("GET", "/metrics", headers={"Authorization": f"Bearer {key}"})
        text = answer.body.decode()
        return text if "\nstillwire_cluster_current_replicas{" in text else None

    text = eventually(samples)
    exported = dict.fromkeys(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE), "")
    for name, label in re.findall(r"^(\w+)\{(\w+)=", text, re.MULTILINE):
        if label != "le":
            exported[name] = label
    rows = "\n".join(re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE))
    assert dict(re.findall(r"`(\w+)(?:\{(\w+)\})?`", rows)) == exported


def test_prometheus_evaluates_each_alert(prometheus: Prometheus) -> None:
    def loaded() -> dict[str, dict[str, Any]]:
        rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
        return {rule["name"]: rule for rule in rules if rule["health"] != "unknown"}

    found = eventually(lambda: loaded() if len(loaded()) == len(alerts()) else None)
    assert {name: rule.get("lastError", "") for name, rule in found.items()} == dict.fromkeys(alerts(), "")


def test_each_sample_that_an_alert_selects_is_exported(prometheus: Prometheus) -> None:
    """An alert with a wrong name or label would never fire."""
    selectors = {
        selector
        for rule in alerts().values()
        for selector in re.findall(r"\b(?:stillwire_\w+|process_\w+|up)(?:\{[^}]*\})?", rule["expr"])
    }
    assert len(selectors) > len(alerts())
    for selector in selectors:
        assert eventually(lambda: prometheus.query(selector), every=0.1), selector


def test_an_alert_fires_for_a_node_that_is_gone(cluster: Cluster, prometheus: Prometheus) -> None:
    """This is the last test, because it ends a node."""
    for standby in cluster.standbys():
        standby.kill()

    def pending() -> set[str]:
        return {alert["labels"]["alertname"] for alert in prometheus.get("alerts")["alerts"]}

    eventually(lambda: "StillwireDown" in pending())
