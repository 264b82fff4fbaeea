// SPDX-License-Identifier: Apache-2.0
package import RelayHub
import RelayJSON
package import RelayProtocol
package import RelayPush
import RelayRequests
package import RelayState
package import RelayStore

/// The categories of notifications, and the responses to notifications.
///
/// The relay sends a response to the sessions of the notification's sender, and to every new session until one session
/// has confirmed it: the session answers a ping that was sent after the response. A response is therefore delivered at
/// least once. After a crash or a lost connection a sender may receive it twice.
///
/// The state is private. The relay creates one object, and the methods run on the hub's thread.
package final class Responses {
  /// The registry of the categories that senders may name.
  package private(set) var categories = Categories()
  /// Signs and verifies the receipts of pushes.
  package let receipts: ReceiptKey
  /// The senders with unconfirmed responses in the store. The set may contain other users.
  private var senders: Set<UserID> = []
  /// The sessions that have received responses.
  private var sessions: [SessionHandle: ResponseDelivery] = [:]
  /// The responses that a session has confirmed while another session of the same sender was reading. The store still
  /// has them as unconfirmed, so that the other session receives them, too.
  private var confirmed: [UserID: [Int64]] = [:]

  private let access: Access

  package init(_ access: Access, receipts: ReceiptKey) { (self.access, self.receipts) = (access, receipts) }

  /// Loads the categories, and the senders with unconfirmed responses. Throws ``StoreError/invalidRow(reason:)``.
  package func load(on core: isolated Core) async throws {
    senders = Set(try await core.store.read { try $0.responses.sendersWithResponses() })
    guard let stored = try await core.store.read({ try $0.responses.categories() }) else { return }
    guard let list = JSON(reading: stored.categories),
      let registry = try? CategoryRegistry(version: stored.version, Fields(stored: ["categories": list]))
    else { throw StoreError.invalidRow(reason: "the stored categories cannot be read") }
    categories = Categories(registry)
  }

  /// Replaces the categories.
  /// - Parameter version: The version to replace. With `nil`, any version is replaced.
  /// - Returns: False if the current version is different.
  package func replaceCategories(
    with registry: CategoryRegistry, version: Int64?, on core: isolated Core
  ) async throws -> Bool {
    let json = registry.categoriesJSON
    guard json.count <= CategoryRegistry.maxSize else {
      throw RequestError(
        .tooLarge, "the categories may have \(CategoryRegistry.maxSize) bytes together", at: "/categories")
    }
    guard let stored = try await core.store.write({ try $0.responses.setCategories(json, replacing: version) }) else {
      return false
    }
    // The completion of a later change may have run first.
    if stored > categories.registry.version {
      categories = Categories(CategoryRegistry(version: stored, categories: registry.categories))
    }
    return true
  }

  // MARK: Sending responses to their senders

  /// Sends a new response to the sessions of the notification's sender.
  package func send(_ response: StoredResponse, on core: isolated Core) {
    senders.insert(response.sender)
    guard let user = core.hub.user(response.sender) else { return }
    for session in core.hub.sessions(of: user) { sendUnconfirmed(to: session, of: response.sender, on: core) }
  }

  /// Sends a session the responses that no session of its user has confirmed, in the order in which they were stored.
  package func sendUnconfirmed(to session: SessionHandle, of sender: UserID, on core: isolated Core) {
    guard senders.contains(sender) else { return }
    if sessions[session] == nil {
      guard core.hub.notifyEnd(of: session) else { return }
      sessions[session] = ResponseDelivery(
        sender: sender, maxBytes: core.limits.outgoingQueue / ResponseDelivery.shareOfQueue)
    }
    guard sessions[session]?.isReading == false else {
      sessions[session]?.isAgain = true
      return
    }
    sessions[session]?.isReading = true
    Task {
      await read(for: session, on: core)
      storeConfirmed(by: sender, on: core)
    }
  }

  package func forget(_ session: SessionHandle) { sessions[session] = nil }

  private func read(for session: SessionHandle, on core: isolated Core) async {
    repeat {
      sessions[session]?.isAgain = false
      // The capacity is used up. The other responses follow when earlier ones are confirmed.
      guard let delivery = sessions[session], delivery.capacity > 0 else { break }
      do {
        let found = try await core.store.read {
          try $0.responses.responses(to: delivery.sender, after: delivery.newest, limit: delivery.capacity)
        }
        write(found, to: session, on: core)
      } catch {
        let isAgain = await core.waitBeforeRetry(after: error)
        sessions[session]?.isAgain = isAgain
      }
    } while sessions[session]?.isAgain == true
    sessions[session]?.isReading = false
  }

  private func write(_ found: [StoredResponse], to session: SessionHandle, on core: isolated Core) {
    let readable = found.filter { isReadable($0, by: session, on: core) }
    let frames = readable.map { response in
      Replies.response(response, hasText: hasText(response, for: session, on: core))
    }
    guard let count = sessions[session]?.fitting(frames) else { return }
    if count == readable.count, readable.count < found.count, let last = found.last {
      // The session gets the responses after those that it may not read.
      sessions[session]?.newest = last.id
      sessions[session]?.isAgain = true
    } else if count > 0 {
      sessions[session]?.newest = readable[count - 1].id
    }
    guard count > 0 else { return }
    for frame in frames.prefix(count) { core.hub.push(frame, to: session) }
    guard let number = core.hub.confirm(session) else { return }
    sessions[session]?.unconfirmed.append(
      (number, readable.prefix(count).map(\.id), frames.prefix(count).reduce(0) { $0 + $1.count }))
  }

  /// True if a session may get a response: its token gives `join` in the room of the message, or the notification has
  /// no room.
  private func isReadable(_ response: StoredResponse, by session: SessionHandle, on core: isolated Core) -> Bool {
    let room = response.message.room
    return room.isNotifications || access.rights(of: session, in: room, on: core).contains(.join)
  }

  /// True if a session may get the text of a response. A text that was posted is a message of the room.
  private func hasText(_ response: StoredResponse, for session: SessionHandle, on core: isolated Core) -> Bool {
    guard response.posted != nil else { return true }
    let rights = access.rights(of: session, in: response.message.room, on: core)
    return StoredText.responseEvent.isReadable(with: rights)
  }

  /// Records that a session has received all frames before the ping with this number.
  package func confirm(_ session: SessionHandle, upTo number: Int64, on core: isolated Core) {
    guard let arrived = sessions[session]?.confirm(upTo: number), !arrived.isEmpty,
      let sender = sessions[session]?.sender
    else { return }
    confirmed[sender, default: []] += arrived
    storeConfirmed(by: sender, on: core)
    sendUnconfirmed(to: session, of: sender, on: core)
  }

  /// Stores the confirmations of a sender when none of the sender's sessions reads.
  private func storeConfirmed(by sender: UserID, on core: isolated Core) {
    let own = core.hub.user(sender).map(core.hub.sessions(of:)) ?? []
    guard !own.contains(where: { sessions[$0]?.isReading == true }),
      let arrived = confirmed.removeValue(forKey: sender)
    else { return }
    core.submit {
      try $0.responses.markSent(arrived, to: sender)
    } then: { [self] result in
      noteStored(result, by: sender, on: core)
    }
  }

  /// - Parameter result: False if the store has no more responses for the sender.
  private func noteStored(_ result: Result<Bool, StoreError>, by sender: UserID, on core: isolated Core) {
    switch result {
    case .success(true): break
    case .success(false): senders.remove(sender)
    // The relay sends the responses again to the next session.
    case .failure(let error): core.diagnostics.logFailure(of: error)
    }
  }
}

/// The registry of categories, and the document that clients read.
package struct Categories: Sendable {
  package let registry: CategoryRegistry
  /// The document as JSON: `version` and `categories`.
  package let document: [UInt8]
  package let tag: String

  package init(_ registry: CategoryRegistry = CategoryRegistry()) {
    self.registry = registry
    document = JSONWriter.object {
      $0.integer("version", registry.version)
      $0.raw("categories", registry.categoriesJSON)
    }
    tag = entityTag(of: document)
  }
}
