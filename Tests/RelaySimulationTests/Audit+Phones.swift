// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayGateways
import RelayHub
import RelayJSON
import RelayProtocol
import RelayStore

@testable import RelayCommands
@testable import RelayHTTP

/// Checks the pushes that follow an earlier one, and the phones after them.
extension Simulation {
  /// Checks a push, and records what its phone shows then.
  /// - Parameter isKnown: False if the relay crashed without the result.
  func lookAtPhone(
    _ handed: RecordingGateway.Handed, _ before: Model, _ after: Model, isKnown: Bool = true
  ) throws {
    let target = Target(user: handed.phonePush.recipient, device: handed.device.id)
    let removals = try removals(in: handed)
    switch handed.phonePush.content {
    case .change(let digest, let text):
      audit.tally.count(text)
      if text == .current { try lookAtText(of: digest, handed, target, before, after) }
      if text != .missed { try lookAtExpiration(of: handed, removals) }
    case .badge, .removal: try lookAtExpiration(of: handed, removals)
    case .alert, .ring, .wake: break
    }
    if case .badge = handed.phonePush.content { audit.tally.count(.badgeSet) }
    if !removals.isEmpty { audit.tally.count(.withdrawn) }
    take(handed, target, removals, isCertain: isKnown && handed.answer == .sent)
  }

  /// Checks that the rules let the phone show the present text of each message of a change.
  private func lookAtText(
    of digest: DigestSubject, _ handed: RecordingGateway.Handed, _ target: Target, _ before: Model, _ after: Model
  ) throws {
    let places =
      [Place(room: digest.newest.room.id, seq: digest.newest.seq)]
      + digest.others.map { Place(room: $0.room, seq: $0.seq) }
    for place in places {
      let what = "the text of \(place) is changed on \(target) at \(handed.time)"
      guard [before, after].contains(where: { $0.mayShowText(of: place, on: target, at: handed.time) }) else {
        let decisions = [before, after].map {
          $0.expectedDecision(on: place, to: target, isAnyway: false, at: handed.time)
        }
        throw Violation(
          .permitted,
          "\(what), but the model decides \(decisions), and it must go: "
            + "\([before, after].map { $0.mustGo(place, for: target.user) })")
      }
      guard audit.phones.removed[target]?.contains(place) != true else {
        throw Violation(.permitted, "\(what), after its notification was removed")
      }
    }
    guard audit.phones.finished[target]?.contains(handed.push.headers.collapseID) != true else {
      throw Violation(.permitted, "\(places) changes on \(target), who has finished the notification")
    }
  }

  /// Checks that a push that only changes or removes a notification does not take the place of the newest alert.
  private func lookAtExpiration(of handed: RecordingGateway.Handed, _ removals: Removals) throws {
    let headers = handed.push.headers
    guard headers.expiration != 0 else { return }
    audit.tally.count(.newestChanged)
    guard let alerts = audit.phones.newestAlerts(on: handed.device.token) else { return }
    let isNewest = alerts.contains { alert in
      guard alert.expiration == headers.expiration else { return false }
      return alert.collapseID == headers.collapseID || removals.covers(alert.message)
    }
    guard isNewest else {
      throw Violation(
        .displaced,
        "\(headers.collapseID) for \(handed.device.token) at \(handed.time) expires at \(headers.expiration), but "
          + "the newest alert is \(alerts)")
    }
  }

  /// The removals in the payload.
  private func removals(in handed: RecordingGateway.Handed) throws -> Removals {
    var removals = Removals()
    let payload = try parser.read(handed.push.payload)
    for (name, isRead) in [("read", true), ("removed", false)] {
      for entry in try entries(Fields(payload.members), name) {
        let place = try place(entry)
        removals.add(MessageReference(room: place.room, seq: place.seq), isRead: isRead)
      }
    }
    return removals
  }

  /// Records what the phone shows after a push.
  private func take(
    _ handed: RecordingGateway.Handed, _ target: Target, _ removals: Removals, isCertain: Bool
  ) {
    let (push, token) = (handed.push, handed.device.token)
    guard handed.isPerhapsShown else {
      let isLater: Duration = if case .retry(let after?) = handed.answer { after } else { PhonePlanner.badgePause }
      return audit.phones.refused(token, until: handed.time + isLater)
    }
    audit.phones.remove(removals, of: target)
    let collapseID = push.headers.collapseID
    switch handed.phonePush.content {
    case .alert(let digest):
      audit.phones.restart(collapseID, of: target)
      show(handed, digest, target, isCertain: isCertain)
    case .change(let digest, .missed): show(handed, digest, target, isCertain: isCertain)
    case .change(_, let text): audit.phones.change(collapseID, of: target, to: text, isCertain: isCertain)
    case .ring(let subject, for: _):
      note(
        handed, subject, expiration: subject.expires.rawValue / 1000, target, isCertain: isCertain, rings: true)
    case .badge, .removal, .wake: break
    }
    if let badge = handed.phonePush.badge { audit.phones.setBadge(isCertain ? badge : nil, on: token) }
  }

  private func show(
    _ handed: RecordingGateway.Handed, _ digest: DigestSubject, _ target: Target, isCertain: Bool
  ) {
    let (headers, newest) = (handed.push.headers, digest.newest)
    let merged = audit.jobs.values.filter { $0.mergedInto == newest.notification && $0.state == .merged }
    let place = Place(room: newest.room.id, seq: newest.seq)
    let entry = PhoneModel.Entry(
      token: handed.device.token, notification: newest.notification, places: Set([place] + merged.map(\.place)),
      isCall: newest.kind == .call, shown: handed.time)
    audit.phones.show(entry, of: target, as: headers.collapseID, isCertain: isCertain)
    note(handed, newest, expiration: headers.expiration, target, isCertain: isCertain, rings: false)
  }

  private func note(
    _ handed: RecordingGateway.Handed, _ subject: PayloadSubject, expiration: Int64, _ target: Target, isCertain: Bool,
    rings: Bool
  ) {
    let alert = PhoneModel.Alert(
      token: handed.device.token, collapseID: handed.push.headers.collapseID, message: subject.message,
      expiration: expiration, time: handed.time, rings: rings)
    audit.phones.note(alert, of: target, isCertain: isCertain)
  }

  // MARK: The end of a step

  /// Checks that the relay has removed the notifications that the phones must not show, and has lowered their badges.
  func lookAtPhones() throws {
    audit.phones.settle(model.devices, now: clock.now)
    // The worker waits for the gateway.
    if relay.isWorking { audit.phones.stop(now: clock.now) }
    for (target, known) in audit.phones.entries {
      for (collapseID, entry) in known {
        let isDue = entry.places.allSatisfy { model.mustGo($0, for: target.user) }
        let chances = audit.phones.removalChances(collapseID, of: target, isDue: isDue, now: clock.now)
        // The pause between two wakes is that of the phone, and each account needs its own.
        guard chances <= World.users.count else {
          throw Violation(
            .withdrawn, "\(target) still shows \(entry) at \(clock.now), which the relay must have removed")
        }
      }
    }
    for (token, badge) in audit.phones.badges {
      let wanted = model.badge(on: token, at: clock.now)
      guard audit.phones.badgeChances(token, isLower: wanted < badge, now: clock.now) == 0 else {
        throw Violation(.lowered, "\(token) still has the badge \(badge) at \(clock.now), not \(wanted)")
      }
    }
  }
}
