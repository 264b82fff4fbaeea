// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The relay's own texts in one language, as the operator has configured them. For an absent text, the push has the
/// key, and the app has the translation.
public struct PushTexts: Equatable, Sendable {
  private var texts: [PushTextKey: String]

  public init(_ texts: [PushTextKey: String] = [:]) { self.texts = texts }

  /// The maximum length of one text, in bytes.
  public static let maxText = 256

  public func text(_ key: PushTextKey, _ arguments: String...) -> PushText {
    guard let format = texts[key] else { return .localized(key: key.rawValue, arguments: arguments) }
    return .text(Self.fill(format, arguments))
  }

  /// The text without arguments for a service that has no translations of the app.
  func plainText(_ key: PushTextKey) -> String { texts[key] ?? key.rawValue }

  /// Replaces each `%@` by the next argument, and each `%1$@` by the argument of that number.
  static func fill(_ format: String, _ arguments: [String]) -> String {
    var text = ""
    var next = 0
    var rest = format[...]
    while let mark = rest.firstIndex(of: "%") {
      text += rest[..<mark]
      rest = rest[mark...]
      let (placeholder, number) = Self.placeholder(rest)
      guard placeholder > 0 else {
        text.append(rest.removeFirst())
        continue
      }
      let index = number.map { $0 - 1 } ?? next
      if number == nil { next += 1 }
      if arguments.indices.contains(index) { text += arguments[index] }
      rest = rest.dropFirst(placeholder)
    }
    return text + rest
  }

  /// The length of the placeholder at the beginning of a text (0 if there is none), and the number in it.
  private static func placeholder(_ text: Substring) -> (length: Int, number: Int?) {
    if text.hasPrefix("%@") { return (2, nil) }
    let digit = text.dropFirst().first?.wholeNumberValue
    guard let digit, text.dropFirst(2).hasPrefix("$@") else { return (0, nil) }
    return (4, digit)
  }

  /// The highest argument number that a format uses.
  public static func arguments(in format: String) -> Int {
    var (next, highest) = (0, 0)
    for index in format.indices where format[index] == "%" {
      let (length, number) = placeholder(format[index...])
      guard length > 0 else { continue }
      if number == nil { next += 1 }
      highest = max(highest, number ?? next)
    }
    return highest
  }
}
