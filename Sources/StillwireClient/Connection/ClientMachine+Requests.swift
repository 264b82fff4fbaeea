// SPDX-License-Identifier: Apache-2.0
// Requests of the app, their replies and timeouts, and the activity and Focus reports of `ClientMachine`.
package import RelayJSON
import RelayProtocol

extension ClientMachine {
  /// Sends a request of the app. Without a connection it fails immediately, because requests are not queued.
  /// Preferences that the relay does not know are left out, and reported.
  package mutating func requested(_ type: String, _ members: [String: JSON], _ ticket: Ticket) {
    let members = known(type, members)
    watches.requested(type, members, ticket)
    guard isOpen else { return answered(.app(ticket), .failure(.closed)) }
    guard requests.pending.count < Requests.capacity else { return answered(.app(ticket), .failure(.outboxFull)) }
    let purpose = Requests.Purpose.app(ticket, change: Frame(changeBy: type, members))
    let id = requests.begin(purpose, at: now)
    let bytes = frame(type, members, id: id)
    guard bytes.count <= maxFrame else {
      requests.forget(ticket)
      return answered(.app(ticket), .failure(tooLarge(bytes.count)))
    }
    requests.sized(id, bytes.count)
    act(.write(bytes))
  }

  /// Returns the members of a request without the preferences that the relay does not know, and emits an error frame
  /// about them.
  private mutating func known(_ type: String, _ members: [String: JSON]) -> [String: JSON] {
    guard isOpen, type == "preferences", let preferences else { return members }
    let unknown = members.keys.filter { !preferences.contains($0) }.sorted()
    guard !unknown.isEmpty else { return members }
    emit(StillwireError(.unsupported, "the relay does not know the preferences \(unknown.joined(separator: ", "))"))
    return members.filter { preferences.contains($0.key) }
  }

  /// Forgets the request, the message or the report of a cancelled task.
  mutating func cancelled(_ ticket: Ticket) {
    requests.forget(ticket)
    watches.ended(ticket, isAccepted: false)
    outbox.cancelled(ticket)
    joiners[ticket] = nil
    if focus.ticket == ticket { _ = focus.ended() }
  }

  func tooLarge(_ size: Int) -> StillwireError {
    StillwireError(.tooLarge, "the frame would have \(size) bytes, \(maxFrame) are allowed")
  }

  /// Handles the reply to a request. The client may have repeated a late request, so its refusal does not count.
  mutating func answered(_ request: Requests.Pending, _ result: Result<JSON, StillwireError>) {
    if request.isLate {
      guard case .success = result, isAwaited(request.purpose) else { return }
    }
    let isFinal = if case .failure(let error) = result { !error.isTemporary } else { true }
    // The other attempts need no reply, which could be taken for that to the next request.
    if isFinal, request.purpose.isRepeated { requests.forget(request.purpose) }
    answered(request.purpose, result)
  }

  /// Returns true if a late reply still has an effect.
  private func isAwaited(_ purpose: Requests.Purpose) -> Bool {
    guard case .send(let room, let key) = purpose else { return true }
    guard let lane = outbox.lanes[room] else { return false }
    return lane.isSent && lane.drafts.first?.key == key
  }

  /// Handles the result of a request, with or without a reply.
  mutating func answered(_ purpose: Requests.Purpose, _ result: Result<JSON, StillwireError>) {
    switch purpose {
    case .app(let ticket, let change):
      if result != .failure(.timeout) { watches.ended(ticket, isAccepted: (try? result.get()) != nil) }
      if let reply = try? result.get() { changeAnswered(reply, change) }
      finish(ticket, result)
    case .watch: watchAnswered(result)
    case .join(let room): joinAnswered(room, result)
    case .abandonedJoin: joinNext()
    case .send(let room, _): sendAnswered(room, result)
    case .people(let room): peopleAnswered(room, result)
    case .renewal: renewalAnswered(result)
    case .focus: focusAnswered(result)
    }
  }

  private mutating func renewalAnswered(_ result: Result<JSON, StillwireError>) {
    switch result {
    case .success(let reply): renewal?.renewed(until: reply["expires"]?.integer, at: now)
    case .failure(let error): renewalFailed(error, of: attempt)
    }
  }

  private mutating func focusAnswered(_ result: Result<JSON, StillwireError>) {
    do {
      let reply = try result.get()
      guard try focus.answered(reply, at: moment) else { return sendFocus() }
      var members = reply.members ?? [:]
      members["applied"] = true
      finish(focus.ended(), .success(.object(members)))
    } catch let error where error.isTemporary {
      focus.refused(at: now, retryAfter: error.retryAfter ?? .zero, random: settings.random())
    } catch {
      finish(focus.ended(), .failure(error))
    }
  }

  mutating func expireRequests() {
    for purpose in requests.expired(at: now) {
      switch purpose {
      case .app, .watch, .join, .abandonedJoin, .renewal, .focus: answered(purpose, .failure(.timeout))
      case .send(let room, _):
        outbox.withLane(room) { $0.lost() }
        send(room)
      // The next join, or the next event `member`, supplies the people.
      case .people: break
      }
    }
  }

  // MARK: Watches

  /// Sends the next request for the users whom the app watches, in a new session.
  mutating func watchAgain() {
    guard let users = watches.next() else { return }
    let id = requests.begin(.watch, at: now)
    write("watch", ["users": .array(users.map(JSON.string))], id: id)
  }

  private mutating func watchAnswered(_ result: Result<JSON, StillwireError>) {
    switch result {
    case .success(let reply):
      let users = watches.accepted()
      for entry in reply["presence"]?.items ?? [] {
        guard var members = entry.members, let user = members["user"]?.text, users.contains(user) else { continue }
        members["type"] = "presence"
        peopleChanged(Frame(.object(members)))
      }
    case .failure(let error) where error.isTemporary:
      let random = settings.random()
      return watches.postponed(at: now, retryAfter: error.retryAfter ?? .zero, random: random)
    case .failure(let error):
      if watches.refused() { emit(error) }
    }
    watchAgain()
  }

  // MARK: Activity and Focus

  package mutating func activityChanged(_ activity: Activity) {
    guard activity != self.activity else { return }
    let isBack = self.activity == .background
    self.activity = activity
    stateActivity()
    if isBack { wake() }
  }

  package mutating func focusReported(_ report: FocusReport, _ ticket: Ticket) {
    finish(focus.reported(report, ticket, at: moment, settings.time()), .failure(.replaced))
    requests.forget(.focus)
    if isOpen { sendFocus() }
  }

  mutating func sendFocus() {
    guard let report = focus.next() else { return }
    let id = requests.begin(.focus, at: now)
    act(
      .write(
        JSONWriter.object {
          $0["type"] = "focus"
          $0.integer("id", id)
          $0.focus(report)
        }))
  }
}
