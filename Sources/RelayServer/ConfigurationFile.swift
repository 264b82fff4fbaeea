// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayHub
public import RelayIdentity
import RelayJSON
import RelayProtocol

/// A configuration file: one strict JSON object with the keys of ``ConfigurationKey/all``.
public struct ConfigurationFile: Sendable {
  public let path: String
  /// What a command line could say as well, by key: `limits.sendRate`. Lists are joined by spaces.
  public private(set) var values: [String: String] = [:]
  /// Lists of objects, by key.
  private(set) var lists: [String: [Fields]] = [:]

  /// More is no configuration.
  static let largest = 1 << 20

  /// Reads and checks the file. Throws ``StartupError`` that names the place.
  public init(path: String) throws(StartupError) {
    let bytes: [UInt8]
    do {
      let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
      bytes = [UInt8](try file.read(upToCount: Self.largest + 1) ?? Data())
    } catch {
      throw StartupError("the configuration \(path) cannot be read")
    }
    try self.init(bytes, path: path)
  }

  init(_ bytes: [UInt8], path: String) throws(StartupError) {
    self.path = path
    guard bytes.count <= Self.largest else { throw StartupError("\(path): more than \(Self.largest) bytes") }
    do {
      try take(JSONParser(deepest: 8).read(bytes), "", ConfigurationKey.all)
    } catch let error as JSONFailure {
      throw StartupError("\(path)\(error.offset.map { Self.place($0, in: bytes) } ?? ""): \(error.reason)")
    } catch let error as RequestError {
      throw failure(error)
    } catch {
      throw StartupError("\(path): \(error)")
    }
  }

  /// The entries of its lists of objects, as JSON, by key.
  public var entries: [String: [String]] {
    lists.mapValues { $0.map { String(decoding: Self.spelled(.object($0.members)), as: UTF8.self) } }
  }

  private static func spelled(_ value: JSON) -> [UInt8] {
    var writer = JSONWriter()
    switch value {
    case .null: writer.raw("null".utf8)
    case .bool(let flag): writer.raw("\(flag)".utf8)
    case .number(let text): writer.raw(text.utf8)
    case .string(let text): writer.string(text)
    case .array(let items): writer.array { for item in items { $0.raw(spelled(item)) } }
    case .object(let members):
      writer.object {
        for member in members.sorted(by: { $0.key < $1.key }) { $0.raw(member.key, spelled(member.value)) }
      }
    case .raw(let bytes): writer.raw(bytes)
    }
    return writer.bytes
  }

  /// What an operator is told of a wrong member.
  func failure(_ error: RequestError) -> StartupError {
    StartupError("\(path): \(error.at.map { "\($0): " } ?? "")\(error.message)")
  }

  /// Line and column, as editors count them.
  private static func place(_ offset: Int, in bytes: [UInt8]) -> String {
    let before = bytes.prefix(offset)
    let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    return ":\(before.count { $0 == UInt8(ascii: "\n") } + 1):\(offset - lineStart + 1)"
  }

  private mutating func take(
    _ fields: Fields, _ prefix: String, _ keys: [String: ConfigurationKey]
  ) throws(RequestError) {
    for (name, value) in fields.members.sorted(by: { $0.key < $1.key }) {
      let key = prefix + name
      let place = "\(fields.place)/\(name)"
      guard let kind = keys[key] else {
        guard keys.contains(where: { $0.key.hasPrefix(key + ".") }) else {
          throw Self.unknown(name, at: place, known: Self.names(below: prefix, keys))
        }
        try take(Fields(value, at: place), key + ".", keys)
        continue
      }
      switch try resolved(value, kind, at: place) {
      case .string(let text), .number(let text): values[key] = text
      case .bool(let flag): values[key] = String(flag)
      case .array(let items):
        var objects: [Fields] = []
        for (index, item) in items.enumerated() {
          if case .object(let members) = item { objects.append(Fields(members, at: "\(place)/\(index)")) }
        }
        if case .objects = kind {
          lists[key] = objects
        } else {
          values[key] = items.map { if case .string(let text) = $0 { text } else { "" } }.joined(separator: " ")
        }
      case .null, .object, .raw: preconditionFailure("a value of no kind passed the check")
      }
    }
  }

  /// The value, of its kind, with paths made from this file's.
  private func resolved(_ value: JSON, _ kind: ConfigurationKey, at place: String) throws(RequestError) -> JSON {
    switch (kind, value) {
    case (.text, .string), (.number, .number), (.flag, .bool): return value
    case (.path, .string(let text)):
      guard !text.isEmpty else { throw RequestError(.badRequest, "must not be empty", at: place) }
      let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
      return .string(URL(fileURLWithPath: text, relativeTo: folder).path)
    case (.texts, .array(let items)):
      for (index, item) in items.enumerated() {
        guard case .string(let text) = item, !text.isEmpty, !text.contains(" ") else {
          throw RequestError(.badRequest, "must be a string without spaces", at: "\(place)/\(index)")
        }
      }
      return value
    case (.objects(let keys), .array(let items)):
      var objects: [JSON] = []
      for (index, item) in items.enumerated() {
        objects.append(.object(try members(Fields(item, at: "\(place)/\(index)"), "", keys)))
      }
      return .array(objects)
    default: throw RequestError(.badRequest, "must be \(kind.noun)", at: place)
    }
  }

  /// The checked members of an object in a list.
  private func members(
    _ fields: Fields, _ prefix: String, _ keys: [String: ConfigurationKey]
  ) throws(RequestError) -> [String: JSON] {
    var members: [String: JSON] = [:]
    for (name, value) in fields.members.sorted(by: { $0.key < $1.key }) {
      let place = "\(fields.place)/\(name)"
      if let kind = keys[prefix + name] {
        members[name] = try resolved(value, kind, at: place)
      } else if keys.contains(where: { $0.key.hasPrefix("\(prefix)\(name).") }) {
        members[name] = .object(try self.members(Fields(value, at: place), "\(prefix)\(name).", keys))
      } else {
        throw Self.unknown(name, at: place, known: Self.names(below: prefix, keys))
      }
    }
    return members
  }

  /// The names that may stand in an object.
  private static func names(below prefix: String, _ keys: [String: ConfigurationKey]) -> Set<String> {
    Set(
      keys.keys.filter { $0.hasPrefix(prefix) }
        .map { String($0.dropFirst(prefix.count).prefix { $0 != "." }) })
  }

  private static func unknown(_ name: String, at place: String, known: Set<String>) -> RequestError {
    let hint = name.nearest(of: known).map { "; did you mean \($0)?" } ?? ""
    return RequestError(.badRequest, "is not known here\(hint)", at: place)
  }
}
