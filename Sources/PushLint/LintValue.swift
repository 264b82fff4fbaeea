// SPDX-License-Identifier: Apache-2.0

/// A JSON value and where it stands in its text.
///
/// Values that were moved or mended keep the place from which they came, so that whatever is found later points there.
struct LintValue: Equatable {
  indirect enum Kind: Equatable {
    case null
    case bool(Bool)
    /// As it is spelled.
    case number(String)
    case string(String)
    case array([LintValue])
    case object([LintMember])
    /// What was there could not be read.
    case broken
    /// Of a type that cannot be here: it stays, and nothing more is said of it.
    case wrong(LintValue)
  }

  var kind: Kind
  /// Bytes of the text.
  var range: Range<Int>
}

struct LintMember: Equatable {
  var key: String
  /// Bytes of the text, quotation marks included.
  var keyRange: Range<Int>
  var value: LintValue
}

extension LintValue {
  var members: [LintMember]? { if case .object(let members) = kind { members } else { nil } }
  var items: [LintValue]? { if case .array(let items) = kind { items } else { nil } }
  var text: String? { if case .string(let text) = kind { text } else { nil } }
  var number: Double? { if case .number(let spelling) = kind { Double(spelling) } else { nil } }
  /// Whether it tells nothing that rules could judge.
  var isBroken: Bool {
    switch kind {
    case .broken, .wrong: true
    default: false
    }
  }

  /// The first member of this name: a second one is told of by itself.
  func member(_ key: String) -> LintMember? { members?.first { $0.key == key } }

  subscript(key: String) -> LintValue? {
    get { member(key)?.value }
    set {
      guard case .object(var members) = kind else { return }
      guard let index = members.firstIndex(where: { $0.key == key }) else { return }
      if let newValue { members[index].value = newValue } else { members.remove(at: index) }
      kind = .object(members)
    }
  }

  mutating func append(_ member: LintMember) {
    guard case .object(var members) = kind else { return }
    members.append(member)
    kind = .object(members)
  }

  /// How a text names it.
  var noun: String {
    switch kind {
    case .null: "null"
    case .bool(let flag): flag ? "true" : "false"
    case .number(let spelling): "the number \(spelling.clipped)"
    case .string(let text): "the text \(text.quoted)"
    case .array: "an array"
    case .object: "an object"
    case .broken: "what cannot be read"
    case .wrong(let value): value.noun
    }
  }
}

extension String {
  /// At most 48 characters, so that no report grows with what it is about.
  var clipped: String {
    unicodeScalars.count <= 48 ? self : String(String.UnicodeScalarView(unicodeScalars.prefix(47))) + "…"
  }

  /// Clipped, and on one line.
  var quoted: String {
    let line = clipped.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : Character($0) }
    return "\"\(String(line))\""
  }
}
