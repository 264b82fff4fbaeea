# SPDX-License-Identifier: Apache-2.0
"""Scenarios, one file for each subject."""
