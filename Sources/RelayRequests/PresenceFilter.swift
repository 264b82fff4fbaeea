// SPDX-License-Identifier: Apache-2.0
package import RelayIdentity
package import RelayProtocol

/// The users that a stream is about.
package struct PresenceFilter: Equatable, Sendable {
  private var names: Set<UserID> = []
  private var patterns: [Glob] = []
  /// The rights of the API key. The filter includes only users in its scope.
  private var key: KeyRights?
  /// True if the filter includes all users.
  private let includesAll: Bool

  /// All users.
  package static let all = PresenceFilter(includesAll: true)

  /// The maximum number of names and patterns.
  static let maxParts = 100

  private init(includesAll: Bool) { self.includesAll = includesAll }

  /// Parses names, and patterns in which `*` matches any text, with commas between them.
  package init(_ text: String) throws(RequestError) {
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    guard parts.count <= Self.maxParts else {
      throw RequestError(.badRequest, "users must have at most \(Self.maxParts) names and patterns", at: "/query/users")
    }
    self.init(includesAll: parts.contains("*"))
    for part in parts {
      if let name = UserID(rawValue: String(part)) {
        names.insert(name)
      } else if part.contains("*"), let pattern = Glob(String(part)) {
        patterns.append(pattern)
      } else {
        throw RequestError(
          .badRequest, "users must have names of users or patterns such as team-*, with commas between them",
          at: "/query/users")
      }
    }
  }

  /// The filter for the users in the scope of an API key. Throws `forbidden` if the filter names another user.
  package func limited(to key: BackendKey?) throws(RequestError) -> PresenceFilter {
    guard let key else { return self }
    for name in names.sorted() { try key.check(user: name.rawValue, at: "/query/users") }
    var filter = self
    filter.key = key.scope?.rights
    return filter
  }

  package func includes(_ user: UserID) -> Bool {
    guard key?.include(user: user.rawValue) ?? true else { return false }
    return includesAll || names.contains(user) || patterns.contains { $0.matches(user.rawValue) }
  }
}
