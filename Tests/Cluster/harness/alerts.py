# SPDX-License-Identifier: Apache-2.0
"""The alerts of the page about metrics, as Prometheus evaluates them, for the samples of the nodes of a cluster.

Only comparisons of samples are evaluated: no rate, no quantile, and no duration.
"""

import operator
import re

from relay import CHECKOUT

from harness.node import Node

PAGE = CHECKOUT / "web" / "docs" / "reference" / "metrics.md"
OPERATORS = {"<": operator.lt, ">": operator.gt, "==": operator.eq, "!=": operator.ne}
#: A sample, or its absolute value, compared with a number or with the sample of another metric.
COMPARISON = re.compile(r"(abs\()?(\w+)(\{[^}]*\})?\)? (<|>|==|!=) ([\w.]+)")
#: The number of samples with this value 1 on all nodes.
COUNT = re.compile(r"\(sum\((\w+\{[^}]*\})\) or vector\(0\)\) != 1")


def alerts() -> list[str]:
    """Returns the expressions about clusters that this module can evaluate."""
    section = PAGE.read_text().split("\n## Alerts\n")[1]
    found = re.findall(r"^- `([^`]*stillwire_cluster_[^`]*)`", section, re.MULTILINE)
    return [alert for alert in found if COMPARISON.fullmatch(alert) or COUNT.fullmatch(alert)]


def firing(nodes: list[Node]) -> set[str]:
    """Returns the names of the metrics whose alerts fire, without `stillwire_cluster_`."""
    samples = [node.metrics() for node in nodes]
    return {name for alert in alerts() if (name := _firing(alert, samples))}


def _firing(alert: str, samples: list[dict[str, float]]) -> str | None:
    if count := COUNT.fullmatch(alert):
        is_firing = sum(sample.get(count[1], 0) for sample in samples) != 1
        return count[1].partition("{")[0].removeprefix("stillwire_cluster_") if is_firing else None
    absolute, metric, labels, sign, bound = COMPARISON.fullmatch(alert).groups()
    for sample in samples:
        for name, value in sample.items():
            if name.partition("{")[0] != metric or (labels and name != metric + labels):
                continue
            other = float(bound) if bound[0].isdigit() else sample.get(name.replace(metric, bound))
            if other is not None and OPERATORS[sign](abs(value) if absolute else value, other):
                return metric.removeprefix("stillwire_cluster_")
    return None
