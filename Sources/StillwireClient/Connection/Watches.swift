// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

/// The users that the app watches, from its requests `watch` and `unwatch`. A watch ends with its session, so the
/// client requests it again after each welcome.
struct Watches: Equatable {
  /// The number of users in one request. The relay's rate counts this number as one more request.
  static let size = 32

  /// The users, in the order of the requests.
  private(set) var users: [String] = []
  /// The users of the app's requests without a reply.
  private var requested: [Ticket: [String]] = [:]
  /// The lists of users that the client must still watch again in this session. The request for the first one may be
  /// pending.
  private(set) var due: [[String]] = []
  private var retry = Retry()
  var retryAt: Duration? { retry.at }

  /// Notes a request of the app.
  mutating func requested(_ type: String, _ members: [String: JSON], _ ticket: Ticket) {
    guard let names = members["users"]?.items?.compactMap(\.text) else { return }
    switch type {
    case "watch": requested[ticket] = names
    case "unwatch":
      let gone = Set(names)
      users.removeAll(where: gone.contains)
      requested = requested.mapValues { $0.filter { !gone.contains($0) } }
      due = due.map { $0.filter { !gone.contains($0) } }
    default: break
    }
  }

  /// Notes the end of a request of the app.
  mutating func ended(_ ticket: Ticket, isAccepted: Bool) {
    guard let names = requested.removeValue(forKey: ticket), isAccepted else { return }
    for user in names where !users.contains(user) { users.append(user) }
  }

  mutating func welcomed() {
    due = stride(from: 0, to: users.count, by: Self.size).map { Array(users[$0..<min($0 + Self.size, users.count)]) }
  }

  mutating func connectionLost() {
    requested = [:]
    due = []
    retry.succeeded()
  }

  /// Returns the users of the next request. Call it if no such request is pending.
  mutating func next() -> [String]? {
    retry.cancel()
    due.removeAll(where: \.isEmpty)
    return due.first
  }

  /// Handles a success. Returns the users who are watched again.
  mutating func accepted() -> Set<String> {
    retry.succeeded()
    return due.isEmpty ? [] : Set(due.removeFirst())
  }

  /// Schedules a retry after a temporary refusal.
  mutating func postponed(at now: Duration, retryAfter: Duration, random: Double) {
    retry.schedule(at: now, retryAfter: retryAfter, random: random)
  }

  /// Handles a permanent refusal. The relay refuses the whole list if it refuses one of its users, so the client
  /// requests each user alone. Returns true if it has forgotten the refused user.
  mutating func refused() -> Bool {
    guard !due.isEmpty else { return false }
    let list = due.removeFirst()
    guard list.count <= 1 else {
      due.insert(contentsOf: list.map { [$0] }, at: 0)
      return false
    }
    users.removeAll(where: list.contains)
    return !list.isEmpty
  }

  /// Returns true if the retry is due.
  mutating func timePassed(at now: Duration) -> Bool { retry.timePassed(at: now) }
}
