# SPDX-License-Identifier: Apache-2.0
# generate.py has generated this file from the OpenAPI document.
"""The version of Stillwire that this client belongs to."""

__version__ = "0.1.0"
