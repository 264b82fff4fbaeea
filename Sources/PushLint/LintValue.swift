// SPDX-License-Identifier: Apache-2.0

/// A JSON value and its position in the text.
///
/// A value that was moved or corrected keeps its original position, so that later findings refer to it.
struct LintValue: Equatable {
  indirect enum Kind: Equatable {
    case null
    case bool(Bool)
    /// The number in its original spelling.
    case number(String)
    case string(String)
    case array([LintValue])
    case object([LintMember])
    /// The text at this position could not be read.
    case broken
    /// A value of the wrong type. It stays in the payload, and later rules ignore it.
    case wrong(LintValue)
  }

  var kind: Kind
  /// The byte range in the text.
  var range: Range<Int>
}

struct LintMember: Equatable {
  var key: String
  /// The byte range of the key in the text, with its quotation marks.
  var keyRange: Range<Int>
  var value: LintValue
}

extension LintValue {
  var members: [LintMember]? { if case .object(let members) = kind { members } else { nil } }
  var items: [LintValue]? { if case .array(let items) = kind { items } else { nil } }
  var text: String? { if case .string(let text) = kind { text } else { nil } }
  var number: Double? { if case .number(let spelling) = kind { Double(spelling) } else { nil } }
  /// True if rules cannot check the value.
  var isBroken: Bool {
    switch kind {
    case .broken, .wrong: true
    default: false
    }
  }

  /// Returns the first member with this key. A second one is reported separately.
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

  /// The value as a noun, for messages.
  var noun: String {
    switch kind {
    case .null: "null"
    case .bool(let flag): flag ? "true" : "false"
    case .number(let spelling): "the number \(spelling.clipped)"
    case .string(let text): "the text \(text.quoted)"
    case .array: "an array"
    case .object: "an object"
    case .broken: "not readable"
    case .wrong(let value): value.noun
    }
  }
}

extension String {
  /// The text, clipped to 48 characters. This limits the size of reports.
  var clipped: String {
    unicodeScalars.count <= 48 ? self : String(String.UnicodeScalarView(unicodeScalars.prefix(47))) + "…"
  }

  /// The text in quotation marks, clipped and on one line.
  var quoted: String {
    let line = clipped.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : Character($0) }
    return "\"\(String(line))\""
  }
}
