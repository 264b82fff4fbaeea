// SPDX-License-Identifier: Apache-2.0
import RelayGateways
import RelayIdentity
import RelayJSON
import RelayProtocol

/// The type of a setting: its form, its bounds, and the parsers of its values.
struct SettingType<Value: Sendable>: Sendable {
  typealias Parser = @Sendable (_ text: String, _ key: String) throws(StartupError) -> Value

  let shape: SettingShape
  /// Parses text. Throws an error with the name of the key. Is `nil` if only a configuration file can contain a value.
  private(set) var parse: Parser?
  /// Parses a list of objects. Throws an error with the JSON pointer of the wrong value.
  var parseList: (@Sendable ([Fields]) throws(RequestError) -> Value)?
  /// Returns a value as text, for the reference page. The text is empty for no value.
  let text: @Sendable (Value) -> String

  init(_ shape: SettingShape, text: @escaping @Sendable (Value) -> String, parse: Parser?) {
    self.shape = shape
    self.text = text
    self.parse = parse
  }

  var optional: SettingType<Value?> {
    converted(text: { [text] in $0.map(text) ?? "" }) { value, _ in value }
  }

  /// The type with an additional check. `check` throws an error with the name of the key.
  func checked(_ check: @escaping @Sendable (Value, String) throws(StartupError) -> Void) -> Self {
    converted(text: text) { value, key throws(StartupError) in
      try check(value, key)
      return value
    }
  }

  fileprivate func converted<Other>(
    text: @escaping @Sendable (Other) -> String,
    _ make: @escaping @Sendable (Value, _ key: String) throws(StartupError) -> Other
  ) -> SettingType<Other> {
    var type = SettingType<Other>(shape, text: text, parse: nil)
    if let parse { type.parse = { text, key throws(StartupError) in try make(try parse(text, key), key) } }
    return type
  }
}

extension SettingType where Value == String {
  private static func any(_ shape: SettingShape) -> Self { Self(shape, text: { $0 }) { text, _ in text } }

  static var text: Self { any(.text) }
  /// A path of a regular file, which need not exist.
  static var file: Self {
    any(.file).checked { path, key throws(StartupError) in try OpenedFile.checkKind(of: path, as: "\(key):") }
  }
  static var folder: Self { any(.folder) }
}

extension SettingType where Value == Bool {
  static var flag: Self {
    Self(.flag, text: { "\($0)" }) { text, key throws(StartupError) in
      guard let flag = Bool(text) else { throw StartupError("\(key) must be true or false, not \(text)") }
      return flag
    }
  }
}

extension SettingType where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
  static var choice: Self {
    let values = Value.allCases.map(\.rawValue)
    let words = values.count == 2 ? values.joined(separator: " or ") : "one of \(values.joined(separator: ", "))"
    return Self(.choice(Value.self), text: \.rawValue) { text, key throws(StartupError) in
      guard let value = Value(rawValue: text) else { throw StartupError("\(key) must be \(words), not \(text)") }
      return value
    }
  }
}

extension SettingType where Value == Double {
  static func number(_ range: ClosedRange<Double>, isWhole: Bool, _ unit: Limits.Unit) -> Self {
    Self(.number(range, isWhole: isWhole, unit), text: unit.text) { text, key throws(StartupError) in
      guard text.isDecimal, let value = Double(text), range.contains(value), !isWhole || value == value.rounded() else {
        let noun = isWhole ? "a whole number" : "a number"
        throw StartupError("\(key) must be \(noun) from \(range.words), not \(text)")
      }
      return value
    }
  }
}

extension SettingType where Value: FixedWidthInteger {
  static func whole(_ range: ClosedRange<Double>, _ unit: Limits.Unit = .count) -> Self {
    let number = SettingType<Double>.number(range, isWhole: true, unit)
    return number.converted(text: { unit.text(Double($0)) }) { number, _ in Value(number) }
  }
}

extension SettingType where Value == Duration {
  static func seconds(_ range: ClosedRange<Double>, isWhole: Bool = false) -> Self {
    let number = SettingType<Double>.number(range, isWhole: isWhole, .seconds)
    return number.converted(text: { Limits.Unit.seconds.text($0.seconds) }) { number, _ in
      .milliseconds(Int64(number * 1000))
    }
  }
}

extension SettingType {
  /// A list of items, separated by spaces in text. `make` returns `nil` for an item that is not valid.
  static func list<Item>(
    of noun: String, _ make: @escaping @Sendable (String) -> Item?, text: @escaping @Sendable (Item) -> String,
    separators: String = " "
  ) -> Self where Value == [Item] {
    Self(.texts, text: { $0.map(text).joined(separator: " ") }) { text, key throws(StartupError) in
      var items: [Item] = []
      for word in text.split(whereSeparator: { separators.contains($0) }) {
        guard let item = make(String(word)) else { throw StartupError("\(key): \(word) is not \(noun)") }
        items.append(item)
      }
      return items
    }
  }

  /// A list of objects in the configuration file.
  static func objects(
    _ members: [SettingMember], parse: Parser? = nil,
    _ parseList: @escaping @Sendable ([Fields]) throws(RequestError) -> Value
  ) -> Self {
    var type = Self(.objects(members), text: { _ in "" }, parse: parse)
    type.parseList = parseList
    return type
  }
}

extension SettingType where Value == [String] {
  static var texts: Self { .list(of: "a text", { $0 }, text: { $0 }) }
}

extension String {
  /// True if the text has no characters but those of decimal numbers. `Double` also accepts hexadecimal numbers.
  fileprivate var isDecimal: Bool { utf8.allSatisfy { "0123456789.+-eE".utf8.contains($0) } }
}

extension Limits.Unit {
  /// The number as text, followed by the same amount in a larger unit: `65536, 64 KiB`.
  func text(_ number: Double) -> String {
    let larger: [(Double, String)] =
      switch self {
      case .bytes: [(1_048_576, "MiB"), (1_024, "KiB")]
      case .seconds: [(86_400, "days")]
      case .count, .perSecond: []
      }
    guard let (size, name) = larger.first(where: { number >= $0.0 && number.remainder(dividingBy: $0.0) == 0 }) else {
      return number.short
    }
    return "\(number.short), \((number / size).short) \(name)"
  }
}
