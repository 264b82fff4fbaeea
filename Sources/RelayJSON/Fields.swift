// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The members of a JSON object, parsed with their types and bounds. Each error has the JSON pointer of its member.
///
/// The methods return `nil` for an absent member and for null.
public struct Fields: Sendable {
  public private(set) var members: [String: JSON]
  /// The JSON pointer of this object.
  public let pointer: String
  /// The JSON pointers of the objects from which ``adding(_:at:)`` took the members.
  private var added: [String: String] = [:]
  /// The members of this object that are hidden by an added member of the same name.
  private var hidden: Set<String> = []
  /// True for the members of a stored record, and of the objects in it.
  private var isStored = false

  public init(_ members: [String: JSON], at pointer: String = "") {
    self.members = members
    self.pointer = pointer
  }

  /// The members of a stored record. It may be older than the rule for texts of one line, so ``line(_:maxLength:)``
  /// returns its texts without the characters that no line has.
  public init(stored members: [String: JSON]) {
    self.init(members)
    isStored = true
  }

  /// Parses `value` as an object.
  public init(_ value: JSON, at pointer: String = "") throws(RequestError) {
    guard case .object(let members) = value else { throw .init(.badRequest, "must be an object", at: pointer) }
    self.init(members, at: pointer)
  }

  /// Adds members from another part of the request, such as its path. They hide members of the same name.
  public func adding(_ members: [String: JSON], at pointer: String) -> Fields {
    var sum = self
    for (key, value) in members {
      if sum.members.updateValue(value, forKey: key) != nil { sum.hidden.insert(key) }
      sum.added[key] = pointer
    }
    return sum
  }

  public func has(_ key: String) -> Bool { members[key] != nil }
  public func isNull(_ key: String) -> Bool { members[key] == .null }

  public func string(_ key: String, maxLength: Int) throws(RequestError) -> String? {
    guard let value = present(key) else { return nil }
    guard case .string(let text) = value else { throw wrong(key, "must be a string") }
    guard text.utf8.count <= maxLength else { throw wrong(key, "must be at most \(maxLength) bytes long") }
    // SQLite truncates a text at NUL.
    guard !text.utf8.contains(0) else { throw wrong(key, "must not contain NUL") }
    return text
  }

  /// Parses a text of one line, see ``Swift/String/isLine``.
  public func line(_ key: String, maxLength: Int) throws(RequestError) -> String? {
    guard let text = try string(key, maxLength: maxLength) else { return nil }
    if isStored { return text.asLine }
    guard text.isLine else { throw wrong(key, String.mustBeLine) }
    return text
  }

  /// Parses a text of one line that is not blank.
  public func shownLine(_ key: String, maxLength: Int) throws(RequestError) -> String? {
    guard present(key) != nil else { return nil }
    let text = try line(key, maxLength: maxLength) ?? ""
    if !text.allSatisfy(\.isWhitespace) { return text }
    // Nothing may be left of a stored text.
    guard isStored else { throw wrong(key, "must not be blank") }
    return "?"
  }

  public func bool(_ key: String) throws(RequestError) -> Bool? {
    guard let value = present(key) else { return nil }
    guard case .bool(let flag) = value else { throw wrong(key, "must be true or false") }
    return flag
  }

  public func integer(_ key: String, _ allowed: ClosedRange<Int64>) throws(RequestError) -> Int64? {
    guard let value = present(key) else { return nil }
    guard case .number(let spelling) = value, let number = Int64(spelling) else {
      throw wrong(key, "must be an integer")
    }
    guard allowed.contains(number) else {
      throw wrong(key, "must be from \(allowed.lowerBound) to \(allowed.upperBound)")
    }
    return number
  }

  public func decimal(_ key: String, _ allowed: ClosedRange<Double>) throws(RequestError) -> Double? {
    guard let value = present(key) else { return nil }
    guard case .number(let spelling) = value, let number = Double(spelling) else {
      throw wrong(key, "must be a number")
    }
    guard allowed.contains(number) else {
      throw wrong(key, "must be from \(allowed.lowerBound.formattedShort) to \(allowed.upperBound.formattedShort)")
    }
    return number
  }

  public func choice<Choice>(
    _ key: String, _: Choice.Type = Choice.self, among cases: [Choice] = Array(Choice.allCases)
  ) throws(RequestError) -> Choice? where Choice: RawRepresentable & CaseIterable, Choice.RawValue == String {
    guard let text = try string(key, maxLength: 256) else { return nil }
    guard let choice = cases.first(where: { $0.rawValue == text }) else {
      throw wrong(key, "must be one of \(cases.map(\.rawValue).joined(separator: ", "))")
    }
    return choice
  }

  public func name<N: Name>(_ key: String, _: N.Type = N.self) throws(RequestError) -> N? {
    guard let value = present(key) else { return nil }
    guard case .string(let text) = value else { throw wrong(key, "must be a string") }
    guard let name = N(rawValue: text) else { throw wrong(key, Self.badName(N.self)) }
    return name
  }

  public func names<N: Name>(_ key: String, max: Int, _: N.Type = N.self) throws(RequestError) -> [N]? {
    guard let value = present(key) else { return nil }
    guard case .array(let items) = value else { throw wrong(key, "must be an array") }
    guard items.count <= max else { throw wrong(key, "must have at most \(max) items") }
    var names: [N] = []
    for (index, item) in items.enumerated() {
      guard case .string(let text) = item, let name = N(rawValue: text) else {
        throw wrong("\(key)/\(index)", Self.badName(N.self))
      }
      names.append(name)
    }
    return names
  }

  public func strings(_ key: String, max: Int, maxLength: Int) throws(RequestError) -> [String]? {
    try texts(key, max: max) { item, key throws(RequestError) in try item.string(key, maxLength: maxLength) }
  }

  /// Parses a list of texts of one line.
  public func lines(_ key: String, max: Int, maxLength: Int) throws(RequestError) -> [String]? {
    try texts(key, max: max) { item, key throws(RequestError) in
      let line = try item.line(key, maxLength: maxLength)
      // A stored text counts also if nothing is left of it.
      return isStored ? line ?? "" : line
    }
  }

  private func texts(
    _ key: String, max: Int, _ parse: (Fields, String) throws(RequestError) -> String?
  ) throws(RequestError) -> [String]? {
    var texts: [String] = []
    guard let items = try items(key, max: max) else { return nil }
    for item in items {
      let pointer = "\(key)/\(texts.count)"
      texts.append(try required(pointer, parse(item, pointer)))
    }
    return texts
  }

  public func integers(_ key: String, max: Int, _ allowed: ClosedRange<Int64>) throws(RequestError) -> [Int64]? {
    var numbers: [Int64] = []
    guard let items = try items(key, max: max) else { return nil }
    for item in items {
      numbers.append(try required("\(key)/\(numbers.count)", item.integer("\(key)/\(numbers.count)", allowed)))
    }
    return numbers
  }

  public func objects(_ key: String, max: Int) throws(RequestError) -> [Fields]? {
    var objects: [Fields] = []
    guard let items = try items(key, max: max) else { return nil }
    for item in items {
      objects.append(try required("\(key)/\(objects.count)", item.object("\(key)/\(objects.count)")))
    }
    return objects
  }

  /// The items of an array. Each item becomes the only member of an object, with its pointer as the key, so that the
  /// methods for members can parse it.
  private func items(_ key: String, max: Int) throws(RequestError) -> [Fields]? {
    guard let value = present(key) else { return nil }
    guard case .array(let items) = value else { throw wrong(key, "must be an array") }
    guard items.count <= max else { throw wrong(key, "must have at most \(max) items") }
    return items.enumerated().map { index, item in
      var fields = Fields(["\(key)/\(index)": item], at: pointer)
      fields.isStored = isStored
      return fields
    }
  }

  public func object(_ key: String) throws(RequestError) -> Fields? {
    guard let value = present(key) else { return nil }
    var fields = try Fields(value, at: pointer(to: key))
    fields.isStored = isStored
    return fields
  }

  /// Throws if a member has an unknown name. The error suggests the most similar known name.
  public func checkNames(among known: [String]) throws(RequestError) {
    let names = members.keys.filter { added[$0] == nil || hidden.contains($0) }
    guard let name = names.sorted().first(where: { !known.contains($0) }) else { return }
    let hint = name.nearest(of: known).map { "; did you mean \($0)?" } ?? ""
    let shown = String(name.prefix(64))
    // RFC 6901 escapes `~` and `/`.
    let escaped = shown.replacing("~", with: "~0").replacing("/", with: "~1")
    throw RequestError(.badRequest, "\(shown) is not known here\(hint)", at: "\(pointer)/\(escaped)")
  }

  /// The text of a member that the relay passes on unchanged, including null.
  public func raw(_ key: String) -> [UInt8]? {
    guard case .raw(let bytes) = members[key] else { return nil }
    return bytes
  }

  /// Returns the value. Throws an error if it is missing.
  public func required<Value>(_ key: String, _ value: Value?) throws(RequestError) -> Value {
    guard let value else { throw wrong(key, isNull(key) ? "must not be null" : "is missing") }
    return value
  }

  public func wrong(_ key: String, _ what: String) -> RequestError {
    RequestError(.badRequest, "\(key) \(what)", at: pointer(to: key))
  }

  /// The JSON pointer of a member. `~` in a name is escaped (RFC 6901). A `/` in a key separates an array's key from an
  /// index.
  public func pointer(to key: String) -> String {
    "\(added[key] ?? pointer)/\(key.replacing("~", with: "~0"))"
  }

  /// Corrects the pointer of an error about an added member. Commands throw `/seq`, although the `seq` of an HTTP
  /// request may be in its path.
  public func located(_ error: RequestError) -> RequestError {
    guard let at = error.at, let pointer = added[String(at.dropFirst())] else { return error }
    var error = error
    error.at = pointer + at
    return error
  }

  public static func badName<N: Name>(_: N.Type) -> String {
    "is not a \(N.noun) name: 1 to \(N.maxLength) of A-Z a-z 0-9 and -_.:@!|+=~"
  }

  private func present(_ key: String) -> JSON? {
    guard let value = members[key], value != .null else { return nil }
    return value
  }
}

extension Double {
  /// The number as text. Whole values have no fraction.
  fileprivate var formattedShort: String { self == rounded() && abs(self) < 1e15 ? String(Int64(self)) : String(self) }
}
