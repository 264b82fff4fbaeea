// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayJSON
import RelayProtocol
import RelayStore

/// Senders hear what became of their notifications, as soon as one of their sessions is there.
///
/// A response counts as heard when a pong came to a ping that was sent after it. Until then it is told to every session
/// of the sender's that comes, so that a crash or a dead socket tells it twice rather than not at all.
extension Relay {
  func tell(_ response: StoredResponse) {
    responses.senders.insert(response.sender)
    guard let user = hub.user(response.sender) else { return }
    for session in hub.sessions(of: user) { tellResponses(to: session, of: response.sender) }
  }

  /// Tells a session what its user has not heard yet, in the order in which it happened.
  func tellResponses(to session: SessionHandle, of sender: UserID) {
    guard responses.senders.contains(sender) else { return }
    if responses.sessions[session] == nil {
      guard hub.tellEnd(of: session) else { return }
      responses.sessions[session] = UntoldResponses.Telling(
        sender: sender, mostBytes: limits.outgoingQueue / UntoldResponses.shareOfQueue)
    }
    guard responses.sessions[session]?.isReading == false else {
      responses.sessions[session]?.isAgain = true
      return
    }
    responses.sessions[session]?.isReading = true
    Task { await writeResponses(to: session) }
  }

  private func writeResponses(to session: SessionHandle) async {
    repeat {
      responses.sessions[session]?.isAgain = false
      // What there is no room for is read when something has arrived.
      guard let telling = responses.sessions[session], telling.room > 0 else { break }
      do {
        let found = try await store.read {
          try $0.responses.responses(to: telling.sender, after: telling.newest, limit: telling.room)
        }
        write(found, to: session)
      } catch {
        _ = requestError(error)  // logs the failure
        guard case .unavailable = error else { break }
        try? await Task.sleep(for: Self.storePause)
        responses.sessions[session]?.isAgain = stage != .stopping
      }
    } while responses.sessions[session]?.isAgain == true
    responses.sessions[session]?.isReading = false
  }

  private func write(_ found: [StoredResponse], to session: SessionHandle) {
    let frames = found.map(Replies.response)
    guard let count = responses.sessions[session]?.fitting(frames), count > 0 else { return }
    for frame in frames.prefix(count) { hub.push(frame, to: session) }
    guard let number = hub.confirm(session) else { return }
    responses.sessions[session]?.newest = found[count - 1].id
    responses.sessions[session]?.unconfirmed.append(
      (number, found.prefix(count).map(\.id), frames.prefix(count).reduce(0) { $0 + $1.count }))
  }

  /// What was asked for under this number has arrived.
  func confirmResponses(of session: SessionHandle, upTo number: Int64) {
    guard let arrived = responses.sessions[session]?.confirm(upTo: number), !arrived.isEmpty,
      let sender = responses.sessions[session]?.sender
    else { return }
    store.submit({ try $0.responses.told(arrived, to: sender) }) { [self] result in
      assumeIsolated { relay in
        switch result {
        case .success(true): break
        case .success(false): relay.responses.senders.remove(sender)
        // They are told again to the next session.
        case .failure(let error): relay.logFailure(of: error)
        }
      }
    }
    tellResponses(to: session, of: sender)
  }
}

extension MessageReference {
  /// Where it is, unless it is of no room.
  func write(to object: inout JSONWriter.Object) {
    guard !room.isNotifications else { return }
    object["room"] = room.rawValue
    object.integer("seq", seq)
  }
}

extension Replies {
  static func response(_ response: StoredResponse) -> [UInt8] {
    JSONWriter.object {
      $0["type"] = "response"
      $0["notification"] = response.notification
      response.message.write(to: &$0)
      $0["user"] = response.user.rawValue
      $0["action"] = response.action.rawValue
      $0["text"] = response.text
    }
  }
}
