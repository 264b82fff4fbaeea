// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayHub
public import RelayIdentity
import RelayJSON
import RelayProtocol

/// A configuration file: one strict JSON object with the keys of ``SettingGroup``. It uses the hub's JSON parser.
public struct ConfigurationFile: Sendable {
  public let path: String
  /// The values that an option could also set, by key: `limits.sendRate`. The items of a list are joined by spaces.
  public private(set) var values: [String: String] = [:]
  /// The lists of objects, by key.
  private(set) var lists: [String: [Fields]] = [:]

  /// The maximum size in bytes.
  static let maxSize = 1 << 20

  /// Reads and checks the file. Throws ``StartupError`` with the position of the fault.
  public init(path: String) throws(StartupError) {
    let file = try OpenedFile(path, as: "the configuration", maxSize: Self.maxSize + 1)
    try self.init([UInt8](file.data), path: path)
  }

  init(_ bytes: [UInt8], path: String) throws(StartupError) {
    self.path = path
    guard bytes.count <= Self.maxSize else { throw StartupError("\(path): more than \(Self.maxSize) bytes") }
    do {
      let root = try members(JSONParser(maxDepth: 8).read(bytes), "", SettingShape.ofFile)
      take(Fields(root), "")
    } catch let error as JSONFailure {
      throw StartupError("\(path)\(error.offset.map { Self.position($0, in: bytes) } ?? ""): \(error.reason)")
    } catch let error as RequestError {
      throw failure(error)
    } catch {
      throw StartupError("\(path): \(error)")
    }
  }

  /// The objects of the lists as JSON, by key.
  public var entries: [String: [String]] {
    lists.mapValues { list in
      list.map { fields in
        var writer = JSONWriter()
        writer.value(.object(fields.members))
        return String(decoding: writer.bytes, as: UTF8.self)
      }
    }
  }

  /// Makes the error message for an operator about a wrong member.
  func failure(_ error: RequestError) -> StartupError {
    StartupError("\(path): \(error.at.map { "\($0): " } ?? "")\(error.message)")
  }

  /// Returns `:line:column` of an offset, both from 1. The column counts bytes.
  private static func position(_ offset: Int, in bytes: [UInt8]) -> String {
    let before = bytes.prefix(offset)
    let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    return ":\(before.count { $0 == UInt8(ascii: "\n") } + 1):\(offset - lineStart + 1)"
  }

  /// Stores the values of an object that has passed the check.
  private mutating func take(_ fields: Fields, _ prefix: String) {
    for (name, value) in fields.members {
      let (key, pointer) = (prefix + name, "\(fields.pointer)/\(name)")
      switch value {
      case .string(let text), .number(let text): values[key] = text
      case .bool(let flag): values[key] = String(flag)
      case .object(let members): take(Fields(members, at: pointer), key + ".")
      case .array(let items):
        guard case .objects = SettingShape.ofFile[key]?.form else {
          values[key] = items.compactMap { if case .string(let text) = $0 { text } else { nil } }.joined(separator: " ")
          continue
        }
        lists[key] = items.enumerated().compactMap { index, item in
          if case .object(let members) = item { Fields(members, at: "\(pointer)/\(index)") } else { nil }
        }
      case .null, .raw: preconditionFailure("a value of no type passed the check")
      }
    }
  }

  /// Returns the value with absolute paths. Throws if the value does not have the shape.
  private func resolved(_ value: JSON, _ shape: SettingShape, at pointer: String) throws(RequestError) -> JSON {
    switch (shape.form, value) {
    case (.text, .string), (.number, .number), (.flag, .bool): return value
    case (.path, .string(let text)):
      guard !text.isEmpty else { throw RequestError(.badRequest, "must not be empty", at: pointer) }
      let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
      return .string(URL(fileURLWithPath: text, relativeTo: folder).path)
    case (.texts, .array(let items)):
      for (index, item) in items.enumerated() {
        guard case .string(let text) = item, !text.isEmpty, !text.contains(" ") else {
          throw RequestError(.badRequest, "must be a string without spaces", at: "\(pointer)/\(index)")
        }
      }
      return value
    case (.objects(let known), .array(let items)):
      let shapes = Dictionary(uniqueKeysWithValues: known.map { ($0.name, $0.shape) })
      var objects: [JSON] = []
      for (index, item) in items.enumerated() {
        objects.append(.object(try members(Fields(item, at: "\(pointer)/\(index)"), "", shapes, isInList: true)))
      }
      return .array(objects)
    default: throw RequestError(.badRequest, "must be \(shape.form.noun)", at: pointer)
    }
  }

  /// Checks the members of an object and returns them with absolute paths.
  /// - Parameter isInList: True for an object of a list, which has no names with dots: they would have no effect.
  private func members(
    _ fields: Fields, _ prefix: String, _ shapes: [String: SettingShape], isInList: Bool = false
  ) throws(RequestError) -> [String: JSON] {
    var members: [String: JSON] = [:]
    for (name, value) in fields.members.sorted(by: { $0.key < $1.key }) {
      let pointer = "\(fields.pointer)/\(name)"
      if let outer = Self.prefixes(of: name).first(where: { fields.members[$0].map(Self.isObject) ?? false }) {
        // Both could set the same key, and the order of the members has no meaning in JSON.
        let rest = name.dropFirst(outer.count + 1)
        throw RequestError(.badRequest, "must be \(rest) in \(outer), because the file has both", at: pointer)
      }
      let hasMembers = shapes.contains { $0.key.hasPrefix("\(prefix)\(name).") }
      // The key of a list may also be the beginning of other keys, as `rooms` is.
      if let shape = shapes[prefix + name], !isInList || !name.contains("."), !(hasMembers && Self.isObject(value)) {
        members[name] = try resolved(value, shape, at: pointer)
      } else if hasMembers {
        let fields = try Fields(value, at: pointer)
        members[name] = .object(try self.members(fields, "\(prefix)\(name).", shapes, isInList: isInList))
      } else {
        let hint = name.nearest(of: Self.names(below: prefix, shapes)).map { "; did you mean \($0)?" } ?? ""
        throw RequestError(.badRequest, "is not known here\(hint)", at: pointer)
      }
    }
    return members
  }

  private static func isObject(_ value: JSON) -> Bool { if case .object = value { true } else { false } }

  /// The names before each dot of a name: `a` and `a.b` of `a.b.c`.
  private static func prefixes(of name: String) -> [String] {
    name.indices.filter { name[$0] == "." }.map { String(name[..<$0]) }
  }

  /// The names that an object may contain.
  private static func names(below prefix: String, _ shapes: [String: SettingShape]) -> Set<String> {
    Set(shapes.keys.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count).prefix { $0 != "." }) })
  }
}
