// SPDX-License-Identifier: Apache-2.0
import CRelay
public import RelayJSON
public import RelayProtocol

// The hub's strict JSON parser in C, for text that does not arrive as a frame, and the conversion of its tree to
// `RelayJSON` values.

/// The hub's strict JSON parser, for HTTP bodies and other text. An instance belongs to one thread.
public final class JSONParser {
  private let parser: OpaquePointer
  private let maxDepth: Int

  public init(maxDepth: Int) {
    guard let parser = relay_json_parser_create() else { preconditionFailure("out of memory") }
    self.parser = parser
    self.maxDepth = maxDepth
  }

  deinit { relay_json_parser_destroy(parser) }

  /// Parses an object and returns its members. Throws `bad_request`: with status 400 if the bytes are not JSON, with
  /// 422 if they are JSON but not a valid object.
  public func parse(_ bytes: [UInt8]) throws(RequestError) -> Fields { try parse(bytes, spelling: "").fields }

  /// The same, and also returns the source text of the member `key`.
  public func parse(_ bytes: [UInt8], spelling key: String) throws(RequestError) -> (fields: Fields, spelling: [UInt8]?)
  {
    do {
      return try read(bytes) { (Fields(JSON.members(of: $0)), $0.source(of: key)) }
    } catch {
      let position = error.offset.map { error.isJSON ? ", before byte \($0)" : ", at byte \($0)" } ?? ""
      throw RequestError(
        .badRequest, error.reason + position, at: error.isJSON ? "" : nil, status: error.isJSON ? nil : 400)
    }
  }

  /// Parses an object and returns its members. Throws the reason and the position of the fault.
  public func read(_ bytes: [UInt8]) throws(JSONFailure) -> Fields {
    try read(bytes) { Fields(JSON.members(of: $0)) }
  }

  /// The same for a text of which the order of members has a meaning for people.
  package func document(_ bytes: [UInt8]) throws(JSONFailure) -> OrderedJSON {
    try read(bytes) { OrderedJSON($0, at: 0) }
  }

  private func read<Reading>(_ bytes: [UInt8], _ reading: (relay_json) -> Reading) throws(JSONFailure) -> Reading {
    var json = relay_json()
    var offset = 0
    // The values are made inside this closure, because the parser's nodes point into the bytes.
    let result: Result<Reading, JSONFailure> = bytes.withUnsafeBytes { source in
      let status = relay_json_parse(parser, source.baseAddress, source.count, UInt32(maxDepth), &json, &offset)
      return switch status {
      case RELAY_JSON_OK: .success(reading(json))
      case RELAY_JSON_TOO_DEEP:
        .failure(JSONFailure(reason: "more than \(maxDepth) arrays and objects inside each other"))
      case RELAY_JSON_TWICE: .failure(JSONFailure(reason: "a key is given twice", offset: offset))
      case RELAY_JSON_TOO_MANY: .failure(JSONFailure(reason: "an object has more than 1024 keys"))
      case RELAY_JSON_SURROGATE:
        .failure(JSONFailure(reason: "a string has half of a surrogate pair", offset: offset))
      case RELAY_JSON_NOT_OBJECT: .failure(JSONFailure(reason: "must be an object"))
      default: .failure(JSONFailure(reason: "not JSON", offset: offset, isJSON: false))
      }
    }
    return try result.get()
  }
}

/// The reason why the parser rejected bytes.
public struct JSONFailure: Error {
  public let reason: String
  /// The offset of the byte at which the parser found the fault. Is `nil` if it is not known.
  public var offset: Int?
  /// True if the bytes are JSON, but not a valid object.
  public var isJSON = true
}

extension JSON {
  /// The members of the outermost object.
  static func members(of json: relay_json) -> [String: JSON] {
    guard json.count > 0, case .object(let members) = value(of: json, at: 0) else { return [:] }
    return members
  }

  fileprivate static func value(of json: relay_json, at index: UInt32) -> JSON {
    let node = json.nodes[Int(index)]
    switch node.kind {
    case RELAY_JSON_NULL: return .null
    case RELAY_JSON_FALSE: return .bool(false)
    case RELAY_JSON_TRUE: return .bool(true)
    case RELAY_JSON_NUMBER: return .number(json.text(node.text, node.length))
    case RELAY_JSON_STRING: return .string(json.text(node.text, node.length))
    case RELAY_JSON_RAW: return .raw(json.source(node.start, node.end))
    case RELAY_JSON_ARRAY:
      var items: [JSON] = []
      children(of: json, at: index) { items.append(value(of: json, at: $0)) }
      return .array(items)
    default:
      var members: [String: JSON] = [:]
      children(of: json, at: index) { child in
        let key = json.nodes[Int(child)]
        members[json.text(key.key, key.key_length)] = value(of: json, at: child)
      }
      return .object(members)
    }
  }

  fileprivate static func children(of json: relay_json, at index: UInt32, _ body: (UInt32) -> Void) {
    var child = index + 1
    while child < json.nodes[Int(index)].next {
      body(child)
      child = json.nodes[Int(child)].next
    }
  }
}

extension OrderedJSON {
  fileprivate init(_ json: relay_json, at index: UInt32) {
    switch json.nodes[Int(index)].kind {
    case RELAY_JSON_ARRAY:
      var items: [OrderedJSON] = []
      JSON.children(of: json, at: index) { items.append(OrderedJSON(json, at: $0)) }
      self = .array(items)
    case RELAY_JSON_OBJECT:
      var members: [Member] = []
      JSON.children(of: json, at: index) { child in
        let key = json.nodes[Int(child)]
        members.append(Member(json.text(key.key, key.key_length), OrderedJSON(json, at: child)))
      }
      self = .object(members)
    default: self = .scalar(JSON.value(of: json, at: index))
    }
  }
}

extension relay_json {
  fileprivate func text(_ at: UInt32, _ length: UInt32) -> String {
    guard length > 0 else { return "" }
    return String(decoding: UnsafeRawBufferPointer(start: text + Int(at), count: Int(length)), as: UTF8.self)
  }

  fileprivate func source(_ start: UInt32, _ end: UInt32) -> [UInt8] {
    Array(UnsafeBufferPointer(start: source + Int(start), count: Int(end - start)))
  }

  /// The source text of a member of the outermost object.
  func source(of key: String) -> [UInt8]? {
    withUnsafePointer(to: self) { relay_json_member($0, key) }.map { source($0.pointee.start, $0.pointee.end) }
  }

  /// True if the `send` has one of ``HubSend/policyFields``.
  var needsPolicy: Bool { withUnsafePointer(to: self, relay_send_needs_policy) }

  /// The value of a member of the outermost object. Is `nil` if it is absent or not a string.
  func string(_ key: String) -> String? {
    guard let node = withUnsafePointer(to: self, { relay_json_member($0, key) })?.pointee,
      node.kind == RELAY_JSON_STRING
    else { return nil }
    return text(node.text, node.length)
  }
}

extension String {
  /// Returns `nil` if the bytes are absent.
  init?(_ bytes: relay_bytes) {
    guard let at = bytes.at else { return nil }
    self.init(decoding: UnsafeRawBufferPointer(start: at, count: bytes.count), as: UTF8.self)
  }
}

extension [UInt8] {
  init(_ bytes: relay_bytes) {
    self.init(UnsafeRawBufferPointer(start: bytes.at, count: bytes.at == nil ? 0 : bytes.count))
  }

  /// Calls `body` with a pointer to the bytes, which is valid only during the call.
  func withBytes<R>(_ body: (relay_bytes) -> R) -> R {
    withUnsafeBytes { body(relay_bytes(at: $0.baseAddress, count: $0.count)) }
  }
}
