// SPDX-License-Identifier: Apache-2.0

/// Writes the JSON of columns while the value is encoded. Foundation's encoder makes a tree of objects first, and takes
/// several times as long.
///
/// The members of each object have the order of their names. A type must end a nested container before it encodes its next
/// value. Belongs to the thread that encodes.
final class StoredJSONEncoder: Encoder {
  let codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any] = [:]

  /// An object or an array that is not closed.
  private struct Scope {
    /// The position of its first byte.
    let start: Int
    let isArray: Bool
    var count = 0
    /// The members of an object, in the order of their encoding.
    var members: [Member] = []
  }

  private struct Member {
    let name: String
    /// The position of its first byte.
    let start: Int
  }

  private var text: [UInt8] = []
  private var scopes: [Scope] = []
  /// The number of scopes around the value that is being encoded.
  private var level = 0

  static func text(of value: some Encodable) throws -> String {
    let encoder = StoredJSONEncoder()
    try encoder.write(value)
    return String(decoding: encoder.text, as: UTF8.self)
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(Members(encoder: self, level: open(isArray: false)))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer { Elements(encoder: self, level: open(isArray: true)) }

  func singleValueContainer() -> any SingleValueEncodingContainer { Single(encoder: self) }

  /// Opens the container of the present value. Does nothing if it is open.
  private func open(isArray: Bool) -> Int {
    if scopes.count == level { openNested(isArray: isArray) }
    return level
  }

  @discardableResult
  fileprivate func openNested(isArray: Bool) -> Int {
    scopes.append(Scope(start: text.count, isArray: isArray))
    text.append(UInt8(ascii: isArray ? "[" : "{"))
    return scopes.count - 1
  }

  private func close() {
    let scope = scopes.removeLast()
    if !zip(scope.members, scope.members.dropFirst()).allSatisfy({ $0.name < $1.name }) { sort(scope) }
    text.append(UInt8(ascii: scope.isArray ? "]" : "}"))
  }

  /// Gives the members of an object the order of their names.
  private func sort(_ scope: Scope) {
    let old = Array(text[scope.start...])
    let order = scope.members.indices.sorted { scope.members[$0].name < scope.members[$1].name }
    text.removeSubrange((scope.start + 1)...)
    for (place, index) in order.enumerated() {
      let end = index + 1 < scope.members.count ? scope.members[index + 1].start - 1 : scope.start + old.count
      if place > 0 { text.append(UInt8(ascii: ",")) }
      text += old[(scope.members[index].start - scope.start)..<(end - scope.start)]
    }
  }

  fileprivate func write(_ value: some Encodable) throws {
    let outer = level
    level = scopes.count
    try value.encode(to: self)
    while scopes.count > level { close() }
    level = outer
  }

  /// Begins a member of the object, or an element of the array if there is no name.
  fileprivate func begin(_ name: String?, in level: Int) {
    while scopes.count > level + 1 { close() }
    if scopes[level].count > 0 { text.append(UInt8(ascii: ",")) }
    scopes[level].count += 1
    guard let name else { return }
    scopes[level].members.append(Member(name: name, start: text.count))
    append(name)
    text.append(UInt8(ascii: ":"))
  }

  fileprivate func count(in level: Int) -> Int { scopes[level].count }

  fileprivate func append(word: String) { text += word.utf8 }

  fileprivate func append(_ string: String) {
    text.append(UInt8(ascii: "\""))
    var string = string
    string.withUTF8 { bytes in
      for byte in bytes {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): text += [UInt8(ascii: "\\"), byte]
        case 0x20...: text.append(byte)
        case 0x08: text += "\\b".utf8
        case 0x09: text += "\\t".utf8
        case 0x0A: text += "\\n".utf8
        case 0x0C: text += "\\f".utf8
        case 0x0D: text += "\\r".utf8
        default: append(word: (byte < 16 ? "\\u000" : "\\u00") + String(byte, radix: 16))
        }
      }
    }
    text.append(UInt8(ascii: "\""))
  }
}

extension StoredJSONEncoder {
  private struct Members<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: StoredJSONEncoder
    let level: Int
    var codingPath: [any CodingKey] { [] }

    func encodeNil(forKey key: Key) {
      encoder.begin(key.stringValue, in: level)
      encoder.append(word: "null")
    }

    func encode(_ value: some Encodable, forKey key: Key) throws {
      encoder.begin(key.stringValue, in: level)
      try encoder.write(value)
    }

    func nestedContainer<Nested: CodingKey>(
      keyedBy: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
      encoder.begin(key.stringValue, in: level)
      return KeyedEncodingContainer(Members<Nested>(encoder: encoder, level: encoder.openNested(isArray: false)))
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
      encoder.begin(key.stringValue, in: level)
      return Elements(encoder: encoder, level: encoder.openNested(isArray: true))
    }

    func superEncoder() -> any Encoder { StoredJSONEncoder.refuse() }
    func superEncoder(forKey: Key) -> any Encoder { StoredJSONEncoder.refuse() }
  }

  private struct Elements: UnkeyedEncodingContainer {
    let encoder: StoredJSONEncoder
    let level: Int
    var codingPath: [any CodingKey] { [] }
    var count: Int { encoder.count(in: level) }

    func encodeNil() {
      encoder.begin(nil, in: level)
      encoder.append(word: "null")
    }

    func encode(_ value: some Encodable) throws {
      encoder.begin(nil, in: level)
      try encoder.write(value)
    }

    func nestedContainer<Nested: CodingKey>(keyedBy: Nested.Type) -> KeyedEncodingContainer<Nested> {
      encoder.begin(nil, in: level)
      return KeyedEncodingContainer(Members<Nested>(encoder: encoder, level: encoder.openNested(isArray: false)))
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
      encoder.begin(nil, in: level)
      return Elements(encoder: encoder, level: encoder.openNested(isArray: true))
    }

    func superEncoder() -> any Encoder { StoredJSONEncoder.refuse() }
  }

  private struct Single: SingleValueEncodingContainer {
    let encoder: StoredJSONEncoder
    var codingPath: [any CodingKey] { [] }

    func encodeNil() { encoder.append(word: "null") }
    func encode(_ value: Bool) { encoder.append(word: value ? "true" : "false") }
    func encode(_ value: String) { encoder.append(value) }
    func encode(_ value: Double) { encoder.append(word: value.description) }
    func encode(_ value: Float) { encoder.append(word: value.description) }
    func encode(_ value: Int) { encoder.append(word: String(value)) }
    func encode(_ value: Int8) { encoder.append(word: String(value)) }
    func encode(_ value: Int16) { encoder.append(word: String(value)) }
    func encode(_ value: Int32) { encoder.append(word: String(value)) }
    func encode(_ value: Int64) { encoder.append(word: String(value)) }
    func encode(_ value: UInt) { encoder.append(word: String(value)) }
    func encode(_ value: UInt8) { encoder.append(word: String(value)) }
    func encode(_ value: UInt16) { encoder.append(word: String(value)) }
    func encode(_ value: UInt32) { encoder.append(word: String(value)) }
    func encode(_ value: UInt64) { encoder.append(word: String(value)) }
    func encode(_ value: some Encodable) throws { try encoder.write(value) }
  }

  private static func refuse() -> Never { preconditionFailure("a stored type has a superclass") }
}
