# SPDX-License-Identifier: Apache-2.0
"""The alerts of clusters in `deploy/prometheus`, as Prometheus evaluates them, for the samples of the nodes.

Only comparisons of samples are evaluated: no rate, no quantile, and no duration.
"""

import operator
import re

import yaml

from relay import CHECKOUT

from harness.node import Node

RULES = CHECKOUT / "deploy" / "prometheus" / "stillwire.rules.yml"
OPERATORS = {"<": operator.lt, ">": operator.gt, "==": operator.eq, "!=": operator.ne}
#: A sample, or its absolute value, compared with a number or with the sample of another metric.
COMPARISON = re.compile(r"(abs\()?(\w+)(\{[^}]*\})?\)? (<|>|==|!=) ([\w.]+)")
#: The number of samples with this value 1 on all nodes. A node without the sample does not count.
COUNT = re.compile(r"sum by \(job\) \((\w+\{[^}]*\})\) != 1")


def alerts() -> dict[str, str]:
    """Returns the expressions of the alerts that this module can evaluate, by the names of the alerts."""
    (rules,) = [group["rules"] for group in yaml.safe_load(RULES.read_text())["groups"] if group["name"] == "cluster"]
    found = {rule["alert"]: rule["expr"] for rule in rules}
    return {name: alert for name, alert in found.items() if COMPARISON.fullmatch(alert) or COUNT.fullmatch(alert)}


def firing(nodes: list[Node]) -> set[str]:
    """Returns the names of the alerts that fire, without `Stillwire`."""
    samples = [node.metrics() for node in nodes]
    return {name.removeprefix("Stillwire") for name, alert in alerts().items() if _fires(alert, samples)}


def _fires(alert: str, samples: list[dict[str, float]]) -> bool:
    if count := COUNT.fullmatch(alert):
        roles = [sample[count[1]] for sample in samples if count[1] in sample]
        return bool(roles) and sum(roles) != 1
    absolute, metric, labels, sign, bound = COMPARISON.fullmatch(alert).groups()
    for sample in samples:
        for name, value in sample.items():
            if name.partition("{")[0] != metric or (labels and name != metric + labels):
                continue
            other = float(bound) if bound[0].isdigit() else sample.get(name.replace(metric, bound))
            if other is not None and OPERATORS[sign](abs(value) if absolute else value, other):
                return True
    return False
