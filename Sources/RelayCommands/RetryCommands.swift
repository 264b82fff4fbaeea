// SPDX-License-Identifier: Apache-2.0

// The command that sends many dead letters again. `RetryPush` sends one.

import RelayFollowers
import RelayHub
import RelayJSON
import RelayProtocol
import RelayRequests
import RelayState
import RelayStore

/// Sends a page of dead letters again, the newest first.
struct RetryPushes: Command {
  private static let note = Field<String?>.text(
    "note", maxLength: 256, "Only dead letters with this `note`, such as `DeviceTokenNotForTopic`.")
  private static let limit = Field<Int>.whole("limit", 1...100, default: 100, "Maximum number of dead letters.")

  package static let declaration = Declaration(
    "POST", "/v1/pushes/retry", by: .backend,
    fields: [ListPushes.user, Self.note, ListPushes.after, Self.limit], body: .optional, reach: .everything)

  private let user: UserID?
  private let note: String?
  /// The last push of the previous page.
  private let after: String?
  private let limit: Int
  private let request: Request

  init(_ request: Request) throws(RequestError) {
    user = try ListPushes.user.value(in: request)
    note = try Self.note.value(in: request)
    after = try ListPushes.after.value(in: request)
    limit = try Self.limit.value(in: request)
    self.request = request
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    let found = try await core.store.read { [user, note, after, limit] reader in
      // One push more than the page shows whether there are more.
      try reader.queue.page(of: user, in: .dead, note: note, after: after, limit: limit + 1)?.map {
        DeadLetter(id: $0.id, rows: 1 + $0.digest.reduce(0) { $0 + $1.count })
      }
    }
    guard let found else { throw ListPushes.noPosition }
    var results: [(id: String, refusal: Revival.Refusal?)] = []
    for slice in DeadLetter.slices(found.prefix(limit)) {
      results += try await retry(slice, relay, on: core)
    }
    return Reply { [results] in
      $0.array("pushes") { list in
        for result in results {
          list.object {
            $0["id"] = result.id
            $0.bool("retried", result.refusal == nil)
            $0["reason"] = result.refusal?.rawValue
          }
        }
      }
      $0.bool("more", found.count > limit)
    }
  }

  /// Sends the pushes of one transaction again, and records each of them in the audit log.
  private func retry(
    _ letters: [DeadLetter], _ relay: Relay, on core: isolated Core
  ) async throws -> [(id: String, refusal: Revival.Refusal?)] {
    let revived = try await core.store.write(rows: letters.reduce(0) { $0 + $1.rows }) { transaction in
      // A push may have ended since the read.
      try letters.compactMap { letter in try transaction.queue.revive(letter.id).map { (letter.id, $0) } }
    }
    let begun = revived.filter { $0.1.revival == .begun }
    if !begun.isEmpty {
      // If this request ends early, the alarm decides the pushes.
      relay.deliveries.holds.expectEnd(by: core.hub.now, on: core)
      await record(begun.map(\.0), relay, on: core)
      try await relay.deliveries.holds.decideAgain(Array(Set(begun.map(\.1.user))), on: core)
    }
    return revived.map { id, revived in
      if case .refused(let refusal) = revived.revival { (id, refusal) } else { (id, nil) }
    }
  }

  /// Adds an entry for each push to the audit log, as ``RetryPush`` does.
  private func record(_ pushes: [String], _ relay: Relay, on core: isolated Core) async {
    let operation = Operation(RetryPush.self)
    await withTaskGroup(of: Void.self) { tasks in
      for push in pushes {
        var retry = Request(Fields(["id": .string(push)]), by: request.caller, request.settings)
        retry.address = request.address
        guard let action = relay.audit.begin(operation, retry, on: core) else { return }
        tasks.addImmediateTask { await relay.audit.end(action, on: core) }
      }
    }
  }
}

/// A push that a request sends again. Pure.
struct DeadLetter: Equatable, Sendable {
  let id: String
  /// An estimate of the rows that its revival changes: the push, and the pushes that are merged into it.
  let rows: Int

  /// The maximum number of rows that a transaction changes, unless its only push has more.
  static let maxRows = 256

  /// The pushes of each transaction, in their order. Messages wait for a transaction, so it is short.
  static func slices(_ letters: some Sequence<DeadLetter>) -> [[DeadLetter]] {
    var slices: [[DeadLetter]] = []
    var rows = 0
    for letter in letters {
      rows += letter.rows
      if slices.isEmpty || rows > maxRows {
        slices.append([])
        rows = letter.rows
      }
      slices[slices.count - 1].append(letter)
    }
    return slices
  }
}
