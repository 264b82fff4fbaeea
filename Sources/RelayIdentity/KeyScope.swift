// SPDX-License-Identifier: Apache-2.0
package import RelayJSON
package import RelayProtocol

// The scopes of API keys: values that the configuration declares and that the file of keys names.

/// The rights and the rate of the API keys that name this scope.
package struct KeyScope: Equatable, Sendable {
  package let name: String
  package let rights: KeyRights
  /// Is `nil` for a key without a rate limit.
  package var rate: KeyRate?
}

/// The operations that an API key may request, and the rooms and users that these requests may name. Pure.
package struct KeyRights: Equatable, Sendable {
  /// The names of the operations. Is `nil` for all.
  package let operations: Set<String>?
  private let rooms: [Glob]?
  private let users: [Glob]?

  package init(operations: Set<String>? = nil, rooms: [Glob]? = nil, users: [Glob]? = nil) {
    self.operations = operations
    self.rooms = rooms
    self.users = users
  }

  package var hasAllRooms: Bool { rooms == nil }
  package var hasAllUsers: Bool { users == nil }

  package func include(operation: String) -> Bool { operations?.contains(operation) ?? true }
  package func include(room: String) -> Bool { rooms?.contains { $0.matches(room) } ?? true }
  package func include(user: String) -> Bool { users?.contains { $0.matches(user) } ?? true }
}

/// The rate limit of an API key.
package struct KeyRate: Equatable, Sendable {
  /// Requests a second.
  package let perSecond: Double
  /// The maximum number of requests at once.
  package let burst: Int

  package static let rates = 0.01...100_000.0
  package static let bursts: ClosedRange<Int64> = 1...1_000_000

  /// - Parameter burst: The default is the number of requests in one second, and at least 1.
  package init(perSecond: Double, burst: Int? = nil) {
    self.perSecond = perSecond
    self.burst = burst ?? max(1, Int(perSecond.rounded(.up)))
  }
}

/// The scopes that the configuration declares.
package struct KeyScopes: Equatable, Sendable {
  private var scopes: [String: KeyScope] = [:]

  /// The maximum number of scopes.
  package static let maxCount = 1_000
  /// The maximum number of operations, of room patterns, and of user patterns of a scope.
  package static let maxItems = 1_000

  /// No scopes.
  package init() {}

  /// Parses the list of the configuration. Throws an error with the pointer of the wrong value.
  /// - Parameters:
  ///   - operations: The names of all operations.
  ///   - groups: The names that stand for several operations.
  package init(
    _ list: [Fields], operations: Set<String>, groups: [String: Set<String>]
  ) throws(RequestError) {
    guard list.count <= Self.maxCount else {
      throw RequestError(.badRequest, "must have at most \(Self.maxCount) scopes", at: "/apiKeyScopes")
    }
    for fields in list {
      let name = try fields.required("scope", fields.string("scope", maxLength: APIKeys.maxNameLength))
      guard APIKeys.isName(name) else { throw fields.wrong("scope", "must have letters, digits, and -_.") }
      guard scopes[name] == nil else { throw fields.wrong("scope", "is the name of an earlier entry") }
      let rights = KeyRights(
        operations: try fields.operations(among: operations, groups), rooms: try fields.patterns("rooms", of: "room"),
        users: try fields.patterns("users", of: "user"))
      scopes[name] = KeyScope(name: name, rights: rights, rate: try KeyRate(fields))
    }
  }

  package var isEmpty: Bool { scopes.isEmpty }

  package subscript(name: String) -> KeyScope? { scopes[name] }
}

extension KeyRate {
  /// Parses the members `rate` and `burst`. Is `nil` without a rate.
  fileprivate init?(_ fields: Fields) throws(RequestError) {
    let burst = try fields.integer("burst", Self.bursts)
    guard let rate = try fields.decimal("rate", Self.rates) else {
      guard burst == nil else { throw fields.wrong("burst", "belongs to a rate, and needs rate") }
      return nil
    }
    self.init(perSecond: rate, burst: burst.map(Int.init))
  }
}

extension Fields {
  /// The member `operations` with its groups replaced by their operations.
  fileprivate func operations(
    among known: Set<String>, _ groups: [String: Set<String>]
  ) throws(RequestError) -> Set<String>? {
    guard let names = try items("operations") else { return nil }
    var operations: Set<String> = []
    for (index, name) in names.enumerated() {
      if let group = groups[name] {
        operations.formUnion(group)
      } else if known.contains(name) {
        operations.insert(name)
      } else {
        let hint = name.nearest(of: known.union(groups.keys)).map { "; did you mean \($0)?" } ?? ""
        throw wrong("operations/\(index)", "is not an operation\(hint)")
      }
    }
    return operations
  }

  /// The patterns of names in a list.
  fileprivate func patterns(_ key: String, of noun: String) throws(RequestError) -> [Glob]? {
    guard let texts = try items(key) else { return nil }
    var patterns: [Glob] = []
    for (index, text) in texts.enumerated() {
      guard let pattern = Glob(text) else {
        throw wrong("\(key)/\(index)", "may have only the characters of \(noun) names, and *")
      }
      patterns.append(pattern)
    }
    return patterns
  }

  /// The texts of a list. Is `nil` without the list. An empty list is an error, because a scope without any room or
  /// user is probably a mistake.
  private func items(_ key: String) throws(RequestError) -> [String]? {
    guard let items = try strings(key, max: KeyScopes.maxItems, maxLength: Glob.maxLength) else { return nil }
    guard !items.isEmpty else { throw wrong(key, "must not be empty: leave it out to allow all") }
    return items
  }
}
