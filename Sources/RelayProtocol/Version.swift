// SPDX-License-Identifier: Apache-2.0

/// The version of this release of Stillwire.
public let stillwireVersion = "0.1.0"
