// SPDX-License-Identifier: Apache-2.0
// Conversions between `JSON` and Swift types: the app's `Codable` types, and the fields of frames.
public import Foundation
public import RelayJSON
package import RelayProtocol

extension JSON {
  /// The value as JSON text (RFC 8259). Numbers keep their original digits.
  public var bytes: [UInt8] {
    var writer = JSONWriter()
    writer.value(self)
    return writer.bytes
  }

  /// Decodes the value to a type of the app. Throws the errors of the decoder.
  public func decoded<Value: Decodable>(
    as type: Value.Type = Value.self, by decoder: JSONDecoder = JSONDecoder()
  ) throws -> Value {
    try decoder.decode(type, from: Data(bytes))
  }

  /// Encodes a value of the app. Throws the errors of the encoder, or `bad_request` if the value is nested too deeply.
  public init(encoding value: some Encodable, by encoder: JSONEncoder = JSONEncoder()) throws {
    guard let json = JSON(reading: try encoder.encode(value), maxDepth: Self.maxNesting) else {
      throw StillwireError(.badRequest, "the value is nested too deeply")
    }
    self = json
  }

  /// Maximum nesting of arrays and objects: twice the default of the relay's `limits.nesting`.
  package static let maxNesting = 256

  /// The value as an integer of at most 53 bits, which every language can represent. Is `nil` for all other values.
  package var integer: Int64? {
    guard case .number(let text) = self, let number = Int64(text), (-maxInteger...maxInteger).contains(number)
    else { return nil }
    return number
  }

  package var decimal: Double? {
    guard case .number(let text) = self, let number = Double(text), number.isFinite else { return nil }
    return number
  }

  package var flag: Bool? {
    guard case .bool(let flag) = self else { return nil }
    return flag
  }

  package var items: [JSON]? {
    guard case .array(let items) = self else { return nil }
    return items
  }

  package var members: [String: JSON]? {
    guard case .object(let members) = self else { return nil }
    return members
  }

  package func name<N: Name>(_ key: String, _: N.Type = N.self) -> N? { self[key]?.text.flatMap(N.init(rawValue:)) }

  package func time(_ key: String) -> Timestamp? { self[key]?.integer.map(Timestamp.init(rawValue:)) }

  /// Parses a duration in decimal seconds, the format of the protocol. Returns `nil` if the value is not a duration.
  package func duration(_ key: String) -> Duration? {
    guard let seconds = self[key]?.decimal, seconds >= 0 else { return nil }
    return .rounded(seconds: min(seconds, Self.maxDuration))
  }

  /// Maximum duration that this client accepts from a server: 30 days, in seconds.
  private static let maxDuration = 30.0 * 86_400
}

extension Duration {
  /// Rounds to microseconds, so that equal decimal texts give equal durations.
  package static func rounded(seconds: Double) -> Duration { .microseconds(Int64((seconds * 1e6).rounded())) }
}

extension Timestamp {
  /// The current wall-clock time.
  package static var wall: Timestamp { Timestamp(rawValue: Int64(Date().timeIntervalSince1970 * 1_000)) }
}
