// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

extension LintValue {
  /// The JSON text of the value in its shortest form. Members keep their order.
  var json: [UInt8] {
    switch kind {
    case .null, .broken: return Array("null".utf8)
    case .wrong(let value): return value.json
    case .bool(let flag): return Array((flag ? "true" : "false").utf8)
    case .number(let spelling): return Array(spelling.utf8)
    case .string(let text):
      var writer = JSONWriter()
      writer.string(text)
      return writer.bytes
    case .array(let items): return JSONWriter.array(items.map(\.json))
    case .object(let members):
      return JSONWriter.object { object in
        for member in members { object.raw(member.key, member.value.json) }
      }
    }
  }
}
