# SPDX-License-Identifier: Apache-2.0
"""Clusters of NATS servers and relays on loopback, faults, load, and the comparison of the results."""
