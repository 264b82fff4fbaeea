# SPDX-License-Identifier: Apache-2.0
"""The alerts of `deploy/prometheus`. `promtool test rules` plays samples, so that each alert fires or stays silent."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from relay import CHECKOUT
from rules import CONFIGURATION, RULES, alerts, groups, promtool

#: A relay or a node, another one, and another program.
HERE = 'job="stillwire",instance="a"'
THERE = 'job="stillwire",instance="b"'
OTHER_JOB = 'job="other",instance="a"'
REFUSED = {"code": "4501"}


@dataclass
class Case:
    """Samples by series, one for each minute, in the notation of promtool: `0+1x5` are 0, 1, 2, 3, 4 and 5.

    The alert fires at the time `fires` with these labels, and not yet at the time `waits`. With the samples of
    `healthy` it does not fire.
    """

    alert: str
    broken: dict[str, str]
    healthy: dict[str, str]
    fires: str = "5m"
    waits: str | None = None
    labels: dict[str, str] = field(default_factory=dict)


def series(metric: str, samples: str, labels: str = "", place: str = HERE) -> dict[str, str]:
    return {f"{metric}{{{place}{',' + labels if labels else ''}}}": samples}


def of_label(metric: str, broken: str, healthy: str, label: str, kept: dict[str, str]) -> dict[str, Any]:
    """A metric with one label at most. Other values of the label may be broken."""
    name, _, value = label.partition("=")
    samples = series(metric, healthy, label)
    if label:
        samples |= series(metric, broken, f'{name}="another"')
    labels = kept | ({name: value.strip('"')} if label else {})
    return {"broken": series(metric, broken, label), "healthy": samples, "labels": labels}


def gauge(
    alert: str, metric: str, broken: float, healthy: float, label: str = "", kept: dict[str, str] = {}, **more: str
) -> Case:
    """A gauge that breaks after a minute, and one at the limit. `kept` are labels that the rule adds."""
    return Case(alert, **of_label(metric, f"{healthy} {broken}x60", f"{healthy}x60", label, kept), **more)


def counter(alert: str, metric: str, broken: str, healthy: str, label: str = "") -> Case:
    return Case(alert, **of_label(metric, broken, healthy, label, {}))


def event(alert: str, metric: str, label: str = "") -> Case:
    """A counter of events, the first of which matters."""
    return counter(alert, metric, "0 0 1x60", "7x60", label)


def latency(alert: str, metric: str, slow: float, fast: float) -> Case:
    """A histogram with 2 % of the values above the limit, and one with 0.5 %. The bounds are those of the relay."""

    def buckets(share: float) -> dict[str, str]:
        return (
            series(f"{metric}_bucket", f"0+{1000 - 10 * share}x60", f'le="{fast}"')
            | series(f"{metric}_bucket", "0+1000x60", f'le="{slow}"')
            | series(f"{metric}_bucket", "0+1000x60", 'le="+Inf"')
        )

    return Case(alert, buckets(2), buckets(0.5), fires="15m", waits="5m")


def ghosts(online: str, offline: str, sessions: str, closes: str) -> dict[str, str]:
    transitions = "stillwire_presence_transitions_total"
    return (
        series(transitions, online, 'to="online"')
        | series(transitions, offline, 'to="offline"')
        | series("stillwire_sessions", sessions)
        | series("stillwire_session_closes_total", closes, 'code="1006"')
        | series("stillwire_session_closes_total", "0x30", 'code="1000"')
    )


def tokens(rejected: str, accepted: str) -> dict[str, str]:
    closes = series("stillwire_session_closes_total", rejected, 'code="4501"')
    closes |= series("stillwire_session_closes_total", "0+100x30", 'code="1000"')
    return closes | series("stillwire_sessions_accepted_total", accepted)


def roles(*leads: int) -> dict[str, str]:
    """Three nodes."""
    made = {}
    for name, leader in zip("abc", leads):
        place = f'job="stillwire",instance="{name}"'
        made |= series("stillwire_cluster_role", f"{leader}x30", 'role="leader"', place)
        made |= series("stillwire_cluster_role", f"{1 - leader}x30", 'role="follower"', place)
    return made


def replicas(current: int) -> dict[str, str]:
    return (
        series("stillwire_cluster_current_replicas", f"{current}x30", 'stream="log"')
        | series("stillwire_cluster_configured_replicas", "3x30", 'stream="log"')
        | series("stillwire_cluster_current_replicas", "3x30", 'stream="snapshots"')
        | series("stillwire_cluster_configured_replicas", "3x30", 'stream="snapshots"')
    )


SINGLE = [
    Case(
        "StillwireDown",
        series("up", "1 0x9"),
        series("up", "1x9") | series("up", "0x9", place=OTHER_JOB),
        fires="2m",
        waits="90s",
    ),
    gauge("StillwireStoreDamaged", "stillwire_store_damaged", 1, 0, fires="1m"),
    gauge("StillwireStoreUnavailable", "stillwire_store_available", 0, 1, fires="2m", waits="90s"),
    latency("StillwireCommitsSlow", "stillwire_store_commit_seconds", 1.0, 0.5),
    latency("StillwireAcknowledgementsSlow", "stillwire_acknowledgement_seconds", 2.5, 1.0),
    gauge("StillwireLogBlocked", "stillwire_store_log_blocked_seconds", 61, 60, fires="1m"),
    gauge("StillwireClockStepped", "stillwire_clock_wait_seconds", 1, 0, 'cause="step"', fires="1m"),
    gauge("StillwirePushesLate", "stillwire_push_job_oldest_age_seconds", 601, 600, fires="6m", waits="5m30s"),
    event("StillwireDeadLetters", "stillwire_pushes_total", 'result="dead"'),
    gauge("StillwireGatewayPaused", "stillwire_apple_paused_apps", 1, 0, kept={"gateway": "apple"}, waits="90s"),
    gauge("StillwireGatewayPaused", "stillwire_webpush_paused_services", 1, 0, kept={"gateway": "webpush"}),
    gauge("StillwireGatewayPaused", "stillwire_matrix_paused_apps", 1, 0, kept={"gateway": "matrix"}),
    gauge("StillwireGatewayFails", "stillwire_failing_push_services", 1, 0, fires="11m", waits="10m30s"),
    gauge("StillwireDeviceTokensKept", "stillwire_forgetting_paused_apps", 1, 0, fires="1m"),
    # 2 refused clients a minute among 3, and among 5. Few refused clients are no alert.
    Case("StillwireTokensRejected", tokens("0+2x30", "0+3x30"), tokens("0+2x30", "0+5x30"), "15m", labels=REFUSED),
    Case("StillwireTokensRejected", tokens("0+2x30", "0+3x30"), tokens("0 10x30", "0 10x30"), "15m", labels=REFUSED),
    # 3 users of 10 stay online after the end of all sessions. In 5 minutes, their sessions no longer explain it.
    Case(
        "StillwireGhosts",
        ghosts("10x30", "7x30", "10 0x30", "0 10x30"),
        ghosts("10x30", "7x30", "3x30", "0 10x30"),
        fires="9m",
        waits="6m",
    ),
    # Many users return again and again, so that many are within the grace at each moment.
    Case(
        "StillwireGhosts",
        ghosts("8x30", "0x30", "7x30", "0x30"),
        ghosts("20+100x30", "0+100x30", "10x30", "0+100x30"),
        fires="9m",
    ),
    gauge("StillwireZoneFilesMissing", "stillwire_tzdata_info", 1, 0, 'version="none"', fires="1m"),
    Case(
        "StillwireKeyOutOfScope",
        series("stillwire_api_key_out_of_scope_total", "0 0 1x9", 'key="bot"'),
        series("stillwire_api_key_out_of_scope_total", "7x9", 'key="bot"'),
        labels={"key": "bot"},
    ),
    event("StillwireAuditLost", "stillwire_audit_entries_total", 'outcome="lost"'),
    gauge("StillwireErasureFails", "stillwire_erasures_failing", 1, 0, fires="11m", waits="10m30s"),
    counter("StillwireClientsSlow", "stillwire_session_closes_total", "0+61x60", "0+60x60", 'code="4003"'),
    Case(
        "StillwireDescriptorsLow",
        series("process_open_fds", "81x9") | series("process_max_fds", "100x9"),
        series("process_open_fds", "80x9")
        | series("process_max_fds", "100x9")
        | series("process_open_fds", "81x9", place=OTHER_JOB)
        | series("process_max_fds", "100x9", place=OTHER_JOB),
    ),
]
CLUSTER = [
    gauge("StillwireNodeAlarm", "stillwire_cluster_role", 1, 0, 'role="alarm"', fires="1m"),
    Case("StillwireNoLeader", roles(0, 0, 0), roles(0, 1, 0), fires="1m", waits="15s"),
    Case("StillwireNoLeader", roles(1, 1, 0), roles(1, 0, 0), fires="1m", waits="15s"),
    Case("StillwireLostReplicas", replicas(2), replicas(3), fires="1m", waits="45s", labels={"stream": "log"}),
    gauge("StillwireLogUnreachable", "stillwire_cluster_log_reachable", 0, 1, fires="90s", waits="75s"),
    gauge("StillwireLeaderUnproved", "stillwire_cluster_unproved_seconds", 2.1, 2, fires="1m"),
    gauge("StillwireClocksDiffer", "stillwire_cluster_clock_difference_seconds", -61, 60, fires="2m", waits="105s"),
    latency("StillwireLogSlow", "stillwire_cluster_publish_seconds", 1.0, 0.5),
    event("StillwireRecordConflict", "stillwire_cluster_conflicts_total"),
    event("StillwireNodeFileFails", "stillwire_cluster_file_failures_total"),
    gauge("StillwireNodeBehind", "stillwire_cluster_lag_records", 1001, 1000, fires="2m", waits="105s"),
]


def played(samples: dict[str, str], *checks: tuple[str, str, list[dict[str, Any]]]) -> dict[str, Any]:
    """A test of promtool, in which each check is a time, an alert and the alerts that fire."""
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in samples.items()],
        "alert_rule_test": [
            {"eval_time": time, "alertname": alert, "exp_alerts": expected} for time, alert, expected in checks
        ],
    }


def cases(case: Case) -> list[dict[str, Any]]:
    rule = alerts()[case.alert]
    labels = {"job": "stillwire"} | case.labels | rule["labels"]
    if case.alert != "StillwireNoLeader":
        labels["instance"] = "a"
    fires = [{"exp_labels": labels, "exp_annotations": rule["annotations"]}]
    checks = [(case.fires, case.alert, fires)]
    if case.waits:
        checks.insert(0, (case.waits, case.alert, []))
    return [played(case.broken, *checks), played(case.healthy, (case.fires, case.alert, []))]


def check(tests: list[dict[str, Any]], folder: Path) -> None:
    """Plays the tests. The output of promtool names the alerts of those that fail."""
    file = folder / "tests.yml"
    file.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": "30s", "tests": tests}))
    result = promtool("test", "rules", file)
    assert result.returncode == 0, result.stdout + result.stderr


def test_each_alert_fires_for_its_condition_only(tmp_path: Path) -> None:
    check([test for case in SINGLE + CLUSTER for test in cases(case)], tmp_path)


def test_each_alert_has_a_case() -> None:
    names = {name: {rule["alert"] for rule in rules} for name, rules in groups().items()}
    assert names == {"single": {case.alert for case in SINGLE}, "cluster": {case.alert for case in CLUSTER}}


def test_each_alert_states_its_condition_and_its_mend() -> None:
    for name, rule in alerts().items():
        assert set(rule["annotations"]) == {"summary", "mend"}, name
        assert rule["labels"]["severity"] in ("critical", "warning"), name
        assert all(text.endswith(".") for text in rule["annotations"].values()), name
    assert len(alerts()) == sum(map(len, groups().values())), "two alerts have the same name"


def test_a_single_relay_has_no_alert_of_a_cluster(tmp_path: Path) -> None:
    samples = series("up", "1x60") | series("stillwire_store_available", "1x60")
    check([played(samples, *[("1h", name, []) for name in alerts()])], tmp_path)


def test_promtool_accepts_the_configuration(tmp_path: Path) -> None:
    # The key exists on the operator's machine only.
    key = tmp_path / "stillwire.key"
    key.write_text("key")
    configuration = tmp_path / "prometheus.yml"
    configuration.write_text(CONFIGURATION.read_text().replace("/etc/prometheus/stillwire.key", str(key)))
    (tmp_path / RULES.name).write_text(RULES.read_text())
    result = promtool("check", "config", "--lint=all", "--lint-fatal", configuration)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_documents_name_alerts_that_exist() -> None:
    pages = [*(CHECKOUT / "web" / "docs").rglob("*.md"), *(CHECKOUT / "deploy").rglob("*.md"), RULES]
    named = {name for page in pages for name in re.findall(r"\bStillwire[A-Z]\w+", page.read_text())}
    modules = {folder.name for folder in (CHECKOUT / "Sources").iterdir()}
    assert named - modules - set(alerts()) == set()
