// SPDX-License-Identifier: Apache-2.0
public import Foundation
public import RelayJSON
import RelayProtocol

extension JSON {
  /// The value as text of RFC 8259, numbers as they were spelled.
  public var bytes: [UInt8] {
    var writer = JSONWriter()
    writer.value(self)
    return writer.bytes
  }

  /// The value as one of the app's own types.
  public func decoded<Value: Decodable>(
    as type: Value.Type = Value.self, by decoder: JSONDecoder = JSONDecoder()
  ) throws -> Value {
    try decoder.decode(type, from: Data(bytes))
  }

  /// A value of the app's own; throws what the encoder does.
  public init(encoding value: some Encodable, by encoder: JSONEncoder = JSONEncoder()) throws {
    guard let json = JSON(reading: try encoder.encode(value), deepest: Frame.deepest) else {
      throw StillwireError(.badRequest, "it is nested too deep")
    }
    self = json
  }

  /// nil unless it is a whole number that every language has.
  var integer: Int64? {
    guard case .number(let text) = self, let number = Int64(text), (-largestInteger...largestInteger).contains(number)
    else { return nil }
    return number
  }

  var decimal: Double? {
    guard case .number(let text) = self, let number = Double(text), number.isFinite else { return nil }
    return number
  }

  var flag: Bool? {
    guard case .bool(let flag) = self else { return nil }
    return flag
  }

  var items: [JSON]? {
    guard case .array(let items) = self else { return nil }
    return items
  }

  var members: [String: JSON]? {
    guard case .object(let members) = self else { return nil }
    return members
  }

  func name<N: Name>(_ key: String, _: N.Type = N.self) -> N? { self[key]?.text.flatMap(N.init(rawValue:)) }

  func time(_ key: String) -> Timestamp? { self[key]?.integer.map(Timestamp.init(rawValue:)) }

  /// Decimal seconds, as the protocol writes durations; what is no duration is none.
  func duration(_ key: String) -> Duration? {
    guard let seconds = self[key]?.decimal, seconds >= 0 else { return nil }
    return .rounded(seconds: min(seconds, Self.longestDuration))
  }

  /// Nobody waits longer than a month for a server's sake.
  private static let longestDuration = 30.0 * 86_400
}

extension Duration {
  /// To whole microseconds, so that what is spelled alike is alike.
  package static func rounded(seconds: Double) -> Duration { .microseconds(Int64((seconds * 1e6).rounded())) }
}

extension Timestamp {
  /// The time of day.
  static var wall: Timestamp { Timestamp(rawValue: Int64(Date().timeIntervalSince1970 * 1_000)) }
}
