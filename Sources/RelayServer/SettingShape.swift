// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The form of a value in the configuration file, and its description in `--help` and the reference page.
struct SettingShape: Sendable {
  enum Form: Sendable {
    case text, number, flag
    /// A path, relative to the configuration file.
    case path
    /// A list of texts without spaces.
    case texts
    case objects([SettingMember])
  }

  let form: Form
  /// The type with its range and unit, for the reference page.
  let type: String
  let valueName: String
  /// The description of the type in `--help`.
  var note: String?

  static let text = Self(form: .text, type: "text", valueName: "text")
  static let file = Self(form: .path, type: "file", valueName: "file")
  static let folder = Self(form: .path, type: "folder", valueName: "folder")
  static let flag = Self(form: .flag, type: "true or false", valueName: "flag", note: "true or false")
  static let texts = Self(form: .texts, type: "list of texts", valueName: "list", note: separated)
  private static let separated = "separate items with spaces"

  static func objects(_ members: [SettingMember]) -> Self {
    Self(form: .objects(members), type: "list of objects", valueName: "list", note: separated)
  }

  static func choice<Choice: CaseIterable & RawRepresentable>(_: Choice.Type) -> Self where Choice.RawValue == String {
    let values = Choice.allCases.map(\.rawValue)
    let type = values.map { "`\($0)`" }.joined(separator: ", ")
    return Self(form: .text, type: type, valueName: "text", note: values.joined(separator: ", "))
  }

  static func number(_ range: ClosedRange<Double>, isWhole: Bool = true, _ unit: Limits.Unit = .count) -> Self {
    let (noun, valueName) =
      switch unit {
      case .count: (isWhole ? "whole number" : "number", "n")
      case .bytes: ("bytes", "bytes")
      case .seconds: (isWhole ? "whole seconds" : "seconds", "seconds")
      case .perSecond: ("number per second", "n")
      }
    return Self(form: .number, type: "\(noun), \(range.words)", valueName: valueName)
  }
}

extension SettingShape.Form {
  /// The expected type in an error about another JSON type.
  var noun: String {
    switch self {
    case .text, .path: "a string"
    case .number: "a number"
    case .flag: "true or false"
    case .texts: "a list of strings"
    case .objects: "a list of objects"
    }
  }
}

/// A member of the objects in a list of the configuration file.
struct SettingMember: Sendable {
  /// The name, with dots between the names of objects: `history.count`.
  let name: String
  let shape: SettingShape
  /// The default as text.
  let standard: String
  let meaning: String

  init(_ name: String, _ shape: SettingShape, default standard: String = "none", _ meaning: String) {
    self.name = name
    self.shape = shape
    self.standard = standard
    self.meaning = meaning
  }
}

extension ClosedRange<Double> {
  /// The range as text: `0.1 to 300`.
  var words: String { "\(lowerBound.short) to \(upperBound.short)" }
}

extension Double {
  /// The value as text, without a fraction if it is whole.
  var short: String { self == rounded() ? String(Int64(self)) : String(self) }
}
