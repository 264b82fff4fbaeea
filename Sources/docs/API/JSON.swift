// SPDX-License-Identifier: Apache-2.0

/// A value that remembers the order of its members and the digits of its numbers: a reference shows them as they were written.
enum JSON: Equatable, Sendable {
  struct Member: Equatable, Sendable {
    let name: String
    let value: JSON
  }

  case null
  case bool(Bool)
  case number(String)
  case string(String)
  case array([JSON])
  case object([Member])

  subscript(name: String) -> JSON? {
    members.first { $0.name == name }?.value
  }

  /// None of what is no object.
  var members: [Member] {
    if case .object(let members) = self { members } else { [] }
  }

  /// None of what is no array.
  var items: [JSON] {
    if case .array(let items) = self { items } else { [] }
  }

  var text: String? {
    if case .string(let text) = self { text } else { nil }
  }

  var digits: String? {
    if case .number(let digits) = self { digits } else { nil }
  }
}
