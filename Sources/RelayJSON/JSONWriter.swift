// SPDX-License-Identifier: Apache-2.0

/// Appends JSON text to a buffer. A closure writes each object and each array, so that none stays open.
///
///     var json = JSONWriter()
///     json.object { $0["type"] = "ok"; $0.raw("id", id) }
public struct JSONWriter: Sendable {
  public private(set) var bytes: [UInt8] = []
  private var needsComma = false

  public init() {}

  public static func object(_ members: (inout Object) -> Void) -> [UInt8] {
    var writer = JSONWriter()
    // Most objects are shorter, so that the buffer is seldom reallocated.
    writer.bytes.reserveCapacity(240)
    writer.object(members)
    return writer.bytes
  }

  /// Returns an array of items, each of which is JSON text.
  public static func array(_ items: [[UInt8]]) -> [UInt8] {
    var writer = JSONWriter()
    writer.array { list in items.forEach { list.raw($0) } }
    return writer.bytes
  }

  public mutating func object(_ members: (inout Object) -> Void) {
    open("{")
    // The buffer is moved into the object and back, and never copied.
    var object = Object(writer: JSONWriter())
    swap(&self, &object.writer)
    members(&object)
    swap(&self, &object.writer)
    close("}")
  }

  public mutating func array(_ items: (inout JSONWriter) -> Void) {
    open("[")
    items(&self)
    close("]")
  }

  public mutating func string(_ text: String) {
    separate()
    appendQuoted(text)
  }

  /// Appends a value that is JSON text.
  public mutating func raw(_ json: some Sequence<UInt8>) {
    separate()
    bytes.append(contentsOf: json)
  }

  /// Appends a value. The members of objects are sorted by key, so that equal values have equal texts.
  public mutating func value(_ value: JSON) {
    switch value {
    case .null: raw("null".utf8)
    case .bool(let flag): raw((flag ? "true" : "false").utf8)
    case .number(let spelling): raw(spelling.utf8)
    case .string(let text): string(text)
    case .array(let items): array { list in items.forEach { list.value($0) } }
    case .object(let members): object { $0.members(members) }
    case .raw(let json): raw(json)
    }
  }

  /// Writes the members of an object in the order in which they are set. A member without a value is left out.
  public struct Object {
    fileprivate var writer: JSONWriter

    public subscript(key: String) -> String? {
      get { nil }
      set {
        guard let newValue else { return }
        name(key)
        writer.string(newValue)
      }
    }

    public mutating func integer(_ key: String, _ value: (some BinaryInteger)?) {
      guard let value else { return }
      raw(key, String(value).utf8)
    }

    public mutating func integer(_ key: String, _ value: Int64?) {
      guard let value else { return }
      name(key)
      writer.separate()
      writer.append(value)
    }

    public mutating func integer(_ key: String, _ value: Int?) { integer(key, value.map(Int64.init)) }

    /// Writes whole values without a fraction.
    public mutating func decimal(_ key: String, _ value: Double?) {
      guard let value else { return }
      let isWhole = value == value.rounded() && abs(value) < 1e15
      if isWhole { integer(key, Int64(value)) } else { raw(key, String(value).utf8) }
    }

    public mutating func bool(_ key: String, _ value: Bool?) {
      guard let value else { return }
      raw(key, (value ? "true" : "false").utf8)
    }

    /// Writes null if there is no value.
    public mutating func boolOrNull(_ key: String, _ value: Bool?) {
      raw(key, (value.map { $0 ? "true" : "false" } ?? "null").utf8)
    }

    public mutating func raw(_ key: String, _ json: (some Sequence<UInt8>)?) {
      guard let json else { return }
      name(key)
      writer.raw(json)
    }

    public mutating func raw(_ key: String, _ json: [UInt8]?) {
      guard let json else { return }
      name(key)
      writer.separate()
      // A long value is seldom the last one. Without this, the next value would reallocate the buffer to twice its
      // size.
      if json.count > 4_096 { writer.bytes.reserveCapacity(writer.bytes.count + json.count + 512) }
      writer.bytes.append(contentsOf: json)
    }

    /// Appends members, sorted by key.
    public mutating func members(_ members: [String: JSON]) {
      for (key, value) in members.sorted(by: { $0.key < $1.key }) {
        name(key)
        writer.value(value)
      }
    }

    /// Appends the members of an object that is JSON text.
    /// - Parameter object: The text of the object, without space outside the braces, or an empty text.
    public mutating func members(of object: [UInt8]) {
      guard object.count > 2 else { return }
      writer.separate()
      writer.bytes.append(contentsOf: object.dropFirst().dropLast())
    }

    public mutating func object(_ key: String, _ members: (inout Object) -> Void) {
      name(key)
      writer.object(members)
    }

    public mutating func array(_ key: String, _ items: (inout JSONWriter) -> Void) {
      name(key)
      writer.array(items)
    }

    private mutating func name(_ key: String) {
      writer.separate()
      writer.appendQuoted(key)
      writer.bytes.append(UInt8(ascii: ":"))
      writer.needsComma = false
    }
  }

  private mutating func open(_ mark: Unicode.Scalar) {
    separate()
    bytes.append(UInt8(ascii: mark))
    needsComma = false
  }

  private mutating func close(_ mark: Unicode.Scalar) {
    bytes.append(UInt8(ascii: mark))
    needsComma = true
  }

  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = true
  }

  private mutating func append(_ value: Int64) {
    var digits: (UInt64, UInt64, UInt64) = (0, 0, 0)  // 19 digits and a sign at most
    withUnsafeMutableBytes(of: &digits) { digits in
      var at = digits.count
      var left = value.magnitude
      repeat {
        at -= 1
        digits[at] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: left % 10)
        left /= 10
      } while left > 0
      if value < 0 {
        at -= 1
        digits[at] = UInt8(ascii: "-")
      }
      bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: digits[at...]))
    }
  }

  private mutating func appendQuoted(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    var text = text
    text.withUTF8 { text in
      let isPlain = text.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
      if isPlain { bytes.append(contentsOf: text) } else { appendEscaped(text) }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func appendEscaped(_ text: UnsafeBufferPointer<UInt8>) {
    for byte in text {
      switch byte {
      case UInt8(ascii: "\""): bytes.append(contentsOf: #"\""#.utf8)
      case UInt8(ascii: "\\"): bytes.append(contentsOf: #"\\"#.utf8)
      case 0x0A: bytes.append(contentsOf: #"\n"#.utf8)
      case 0x0D: bytes.append(contentsOf: #"\r"#.utf8)
      case 0x09: bytes.append(contentsOf: #"\t"#.utf8)
      case 0..<0x20:
        let digits = Array("0123456789abcdef".utf8)
        bytes.append(contentsOf: #"\u00"#.utf8)
        bytes.append(digits[Int(byte >> 4)])
        bytes.append(digits[Int(byte & 15)])
      default: bytes.append(byte)
      }
    }
  }
}
