// SPDX-License-Identifier: Apache-2.0
import Foundation

extension JSON {
  /// For people: what fits stays in one line.
  func printed(width: Int = 76, indent: String = "") -> String {
    let line = self.line
    guard indent.count + line.count > width else { return line }
    let inner = indent + "  "
    switch self {
    case .array(let items) where !items.isEmpty:
      let lines = items.map { inner + $0.printed(width: width, indent: inner) }
      return "[\n" + lines.joined(separator: ",\n") + "\n" + indent + "]"
    case .object(let members) where !members.isEmpty:
      let lines = members.map {
        inner + Self.quoted($0.name) + ": " + $0.value.printed(width: width - $0.name.count - 4, indent: inner)
      }
      return "{\n" + lines.joined(separator: ",\n") + "\n" + indent + "}"
    default: return line
    }
  }

  private var line: String {
    switch self {
    case .null: "null"
    case .bool(let bool): bool ? "true" : "false"
    case .number(let digits): digits
    case .string(let text): Self.quoted(text)
    case .array(let items): "[" + items.map(\.line).joined(separator: ", ") + "]"
    case .object(let members):
      "{" + members.map { Self.quoted($0.name) + ": " + $0.value.line }.joined(separator: ", ") + "}"
    }
  }

  private static func quoted(_ text: String) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    guard let bytes = try? encoder.encode(text) else { preconditionFailure("every text can be written as JSON") }
    return String(decoding: bytes, as: UTF8.self)
  }
}
