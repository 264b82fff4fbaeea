// SPDX-License-Identifier: Apache-2.0

/// A JSON value (RFC 8259).
/// - Numbers keep their spelling.
/// - `raw` is the text of a value that is not parsed further, byte for byte.
public enum JSON: Equatable, Sendable {
  case null
  case bool(Bool)
  case number(String)
  case string(String)
  case array([JSON])
  case object([String: JSON])
  case raw([UInt8])
}

/// The largest integer that requests may contain, 2^53 - 1. Some languages cannot represent larger ones (RFC 7493,
/// section 2.2).
public let maxInteger: Int64 = 1 << 53 - 1
