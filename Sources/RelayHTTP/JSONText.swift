// SPDX-License-Identifier: Apache-2.0

/// A JSON text that keeps its format when members are added to its objects. `DocumentSource` uses it.
///
/// The text must be a source file of this package: valid JSON, without escapes in names. Members can be added only to
/// objects that are not empty. Tests check this.
struct JSONText {
  struct Member {
    let name: String
    /// The positions of the bytes of the value.
    let value: Range<Int>
  }

  private(set) var bytes: [UInt8]
  /// The text to add before each of these positions.
  private var additions: [(position: Int, text: [UInt8])] = []

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The outermost object.
  var root: Range<Int> { 0..<bytes.count }

  /// The members of an object, in their order.
  func members(of object: Range<Int>) -> [Member] {
    var members: [Member] = []
    var position = object.lowerBound + 1
    while true {
      skipSeparators(at: &position)
      guard bytes[position] == UInt8(ascii: "\"") else { return members }
      let start = position
      skipString(at: &position)
      let name = String(decoding: bytes[(start + 1)..<(position - 1)], as: UTF8.self)
      skipSeparators(at: &position)
      let value = position
      skipValue(at: &position)
      members.append(Member(name: name, value: value..<position))
    }
  }

  /// The value at a path of names.
  func value(_ path: String...) -> Range<Int>? {
    path.reduce(root) { found, name in
      found.flatMap { members(of: $0).first { $0.name == name }?.value }
    }
  }

  /// Adds members after the last member of an object, each in its own line. Positions remain valid until ``finish()``,
  /// which changes the text.
  mutating func add(_ members: [(name: String, value: [UInt8])], to object: Range<Int>) {
    guard let last = self.members(of: object).last else { preconditionFailure("the object has no members") }
    let line = bytes[..<last.value.lowerBound].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    let indent = bytes[line...].prefix { $0 == UInt8(ascii: " ") }
    let text = members.flatMap { Array(",\n".utf8) + indent + Array("\"\($0.name)\": ".utf8) + $0.value }
    additions.append((last.value.upperBound, text))
  }

  /// Applies all additions.
  mutating func finish() {
    var result: [UInt8] = []
    var start = 0
    for (position, text) in additions.sorted(by: { $0.position < $1.position }) {
      result += bytes[start..<position]
      result += text
      start = position
    }
    bytes = result + bytes[start...]
    additions = []
  }

  /// Skips spaces, line ends, commas and colons.
  private func skipSeparators(at position: inout Int) {
    while " \n,:".utf8.contains(bytes[position]) { position += 1 }
  }

  private func skipValue(at position: inout Int) {
    var depth = 0
    repeat {
      switch bytes[position] {
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        position += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        position += 1
      case UInt8(ascii: "\""): skipString(at: &position)
      default: skipWord(at: &position)
      }
      if depth > 0 { skipSeparators(at: &position) }
    } while depth > 0
  }

  private func skipString(at position: inout Int) {
    position += 1
    while bytes[position] != UInt8(ascii: "\"") { position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1 }
    position += 1
  }

  /// Skips a number, or `true`, `false` or `null`.
  private func skipWord(at position: inout Int) {
    while !" \n,]}".utf8.contains(bytes[position]) { position += 1 }
  }
}
