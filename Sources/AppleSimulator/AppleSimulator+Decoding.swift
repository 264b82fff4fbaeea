// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayJSON
import RelayProtocol

// Decodes and encodes bodies of the control API. An error names the wrong member.

extension JSONDecoder {
  /// Decodes the text of a JSON object.
  static func value<Value: Decodable>(_: Value.Type = Value.self, from body: [UInt8]) throws(RequestError) -> Value {
    // Foundation's decoder accepts repeated names, and any nesting.
    guard JSON(reading: body) != nil else { throw RequestError(.badRequest, "the body is not JSON", status: 400) }
    do {
      return try JSONDecoder().decode(Value.self, from: Data(body))
    } catch let error as DecodingError {
      throw RequestError(error)
    } catch {
      throw RequestError(.badRequest, "\(error)")
    }
  }
}

extension JSONEncoder {
  static func body(_ value: some Encodable) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else { preconditionFailure("a value of the simulator has no JSON") }
    return Array(data)
  }
}

extension Decoder {
  /// - Parameter key: The wrong member. Is `nil` if the whole value is wrong.
  func fault(_ description: String, at key: AppleSimulator.Member? = nil) -> DecodingError {
    .dataCorrupted(.init(codingPath: codingPath + (key.map { [$0] } ?? []), debugDescription: description))
  }

  func check<Value>(_ key: AppleSimulator.Member, _ value: Value?, _ bounds: ClosedRange<Value>) throws {
    guard let value, !bounds.contains(value) else { return }
    throw fault("must be from \(bounds.lowerBound) to \(bounds.upperBound)", at: key)
  }
}

extension KeyedDecodingContainer {
  // Synthesized code calls these two. Foundation's decoder (Swift 6.3.1) does not name the member of a number that has
  // a fraction or is too large.

  func decode(_: Int.Type, forKey key: Key) throws -> Int {
    guard let number = Int(exactly: try decode(Double.self, forKey: key)) else {
      throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "must be an integer")
    }
    return number
  }

  func decodeIfPresent(_: Int.Type, forKey key: Key) throws -> Int? {
    guard contains(key), try !decodeNil(forKey: key) else { return nil }
    return try decode(Int.self, forKey: key)
  }
}

extension AppleSimulator {
  /// The name of a member.
  struct Member: CodingKey, ExpressibleByStringLiteral {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringLiteral name: String) { stringValue = name }
    init(stringValue name: String) { stringValue = name }
    init?(intValue: Int) { nil }
  }
}

extension RequestError {
  init(_ error: DecodingError) {
    let (path, description): ([any CodingKey], String) =
      switch error {
      case .keyNotFound(let key, let context): (context.codingPath + [key], "is missing")
      case .valueNotFound(_, let context): (context.codingPath, "must not be null")
      case .typeMismatch(_, let context), .dataCorrupted(let context): (context.codingPath, context.debugDescription)
      @unknown default: ([], "\(error)")
      }
    let names = path.map { $0.intValue.map(String.init) ?? $0.stringValue }
    let pointer = names.map { "/" + $0.replacing("~", with: "~0").replacing("/", with: "~1") }.joined()
    self.init(.badRequest, (names.last.map { "\($0): " } ?? "") + description, at: pointer)
  }
}
