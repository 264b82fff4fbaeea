// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayHub
import RelayRequests
import RelayStore

/// The users who were online when an earlier run ended.
///
/// The store has them with their activity. ``adopt(_:on:)`` shows such a user as online when it loads the user, so the
/// start reads only their number. Users who do not return in time go offline: the hub ends those in memory, and
/// ``endReturns(on:)`` the others.
extension People {
  /// Awaits the users from now on. Call it before users are in memory.
  package func awaitReturns(on core: isolated Core) async throws {
    let users = try await core.store.read { try $0.people.onlineCount() }
    guard let time = core.settings.returns.time(awaiting: users) else { return }
    core.hub.awaitReturns(for: time)
    core.diagnostics.log.info(
      "users were online before the start: those who do not return in time go offline",
      metadata: ["users": "\(users)", "time": "\(time)"])
  }

  /// The number of users that are read at once.
  private static let pageSize = 500

  /// Stores that the awaited users are offline who were not in memory at the end of the time.
  package func endReturns(on core: isolated Core) async {
    var position: Int64 = 0
    await core.retrySlices {
      let page = try await core.store.read { [position] in
        try $0.people.online(after: position, limit: Self.pageSize)
      }
      guard let last = page.last else { return false }
      // The write is submitted before any change of these users that follows.
      let gone = page.map(\.user).filter { !(core.hub.user($0).map(core.hub.isOnline) ?? false) }
      if !gone.isEmpty { try await core.store.write(rows: gone.count) { try $0.people.saveOffline(gone) } }
      position = last.position
      return true
    }
  }
}
