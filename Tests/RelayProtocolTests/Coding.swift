// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The value as JSON text with sorted keys.
func coded(_ value: some Encodable) throws -> String {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  return String(decoding: try encoder.encode(value), as: UTF8.self)
}

func decoded<Value: Decodable>(_ json: String, _: Value.Type = Value.self) throws -> Value {
  try JSONDecoder().decode(Value.self, from: Data(json.utf8))
}
