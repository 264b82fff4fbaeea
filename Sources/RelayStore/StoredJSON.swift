// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import RelayJSON
import RelayProtocol

/// JSON in columns. Equal values always have the same text.
package enum StoredJSON {
  package static func text(of value: some Encodable) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else { preconditionFailure("the value has no JSON") }
    return String(decoding: data, as: UTF8.self)
  }

  /// A JSON array of texts. Much faster than the encoder.
  package static func text(of texts: [String]) -> String {
    var writer = JSONWriter()
    writer.array { list in texts.forEach { list.string($0) } }
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}

extension Row {
  /// The value of a column of JSON. Is `nil` for NULL. Throws ``StoreError/invalidRow(reason:)``.
  /// - Parameter subject: The contents of the column, in words for an operator.
  func json<Value: Decodable>(_ column: String, _ subject: String, as: Value.Type = Value.self) throws -> Value? {
    guard let text: String = self[column] else { return nil }
    do {
      return try JSONDecoder().decode(Value.self, from: Data(text.utf8))
    } catch {
      // The decoder's error is left out, because it may contain a user's own words.
      throw StoreError.invalidRow(reason: "the stored JSON of \(subject) cannot be read")
    }
  }
}

extension Collection where Element: Name {
  /// A JSON array. Names need no escape.
  var asJSON: String { "[" + map { "\"\($0.rawValue)\"" }.joined(separator: ",") + "]" }
}
