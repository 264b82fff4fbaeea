// SPDX-License-Identifier: Apache-2.0
public import RelayJSON
public import RelayProtocol

// Literals for names and JSON values. An invalid name in a literal is an error of the program, so it stops the program.

extension Name where Self: ExpressibleByStringLiteral {
  public init(stringLiteral text: String) {
    guard let name = Self(rawValue: text) else { preconditionFailure("invalid name of a \(Self.noun): \"\(text)\"") }
    self = name
  }
}

extension RoomID: ExpressibleByStringLiteral {}
extension UserID: ExpressibleByStringLiteral {}
extension DeviceID: ExpressibleByStringLiteral {}
extension CategoryID: ExpressibleByStringLiteral {}
extension ActionID: ExpressibleByStringLiteral {}

extension JSON: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(nilLiteral: ()) { self = .null }
  public init(booleanLiteral flag: Bool) { self = .bool(flag) }
  public init(integerLiteral number: Int64) { self = .number(String(number)) }
  public init(floatLiteral number: Double) { self = .number(String(number)) }
  public init(stringLiteral text: String) { self = .string(text) }
  public init(arrayLiteral items: JSON...) { self = .array(items) }
  /// If a name occurs twice, the last value is used.
  public init(dictionaryLiteral members: (String, JSON)...) {
    self = .object(Dictionary(members) { _, last in last })
  }
}
