// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayJSON
import RelayProtocol

@testable import RelayHTTP

/// The frames about users: presence, Focus, and the delivery of messages.
extension Simulation {
  // MARK: Presence

  func entries(_ fields: Fields, _ key: String) throws -> [Fields] {
    guard case .array(let items)? = fields.members[key] else { return [] }
    return try items.map { try Fields($0) }
  }

  /// Checks an entry: a Focus that is not shared is null, and a shared one is that of the user's devices.
  func see(_ entry: Fields, _ client: Client) throws {
    let user: UserID = try entry.required("user", entry.name("user"))
    client.shown.updateValue(try entry.bool("isFocused"), forKey: user)
    claims.append { [unowned self] in try look(at: entry, of: user, shownTo: client) }
  }

  private func look(at entry: Fields, of user: UserID, shownTo client: Client) throws {
    let (viewer, claimed) = (client.slot.user, try entry.bool("isFocused"))
    let what = "\(client.slot) is shown \(claimed.map { "\($0)" } ?? "null") as the Focus of \(user)"
    guard entry.has("isFocused"), claimed == true || !entry.has("focusSince") else {
      throw Violation(.focused, "\(what), with a wrong or missing member")
    }
    // Two changes of one step may take effect in either order: the members of rooms, and the users' preferences.
    let models = [before, model, before.with(membersOf: model), model.with(membersOf: before)]
    let seen = Set(models.map { $0.seesFocus(of: user, viewer) })
    let truth = seen == [false] ? [] : focuses(of: user)
    guard seen.contains(true) || claimed == nil else { throw Violation(.discreet, "\(what), which is not shared") }
    // After a join or leave, the Focus may be null until the shared rooms are known.
    let isInDoubt = World.rooms.contains { room in
      [user, viewer].contains { before.isMember($0, of: room) != model.isMember($0, of: room) }
    }
    guard truth.contains(claimed) || (isInDoubt || seen.contains(false)) && claimed == nil else {
      throw Violation(.focused, "\(what), not \(truth)")
    }
    let isOnlineSeen = models.contains { $0.seesOnline(of: user, viewer) }
    guard try isOnlineSeen || entry.bool("online") != true && !entry.has("activity") && !entry.has("lastSeen") else {
      throw Violation(.discreet, "\(client.slot) is shown that \(user) is online")
    }
    if models.allSatisfy({ $0.seesOnline(of: user, viewer) && $0.attendance.isAwaited(user, at: clock.now) }) {
      guard try entry.bool("online") == true else {
        throw Violation(.awaited, "\(client.slot) is shown that \(user) is offline, who may still return")
      }
      if !model.attendance.hasSession(user) { audit.tally.count(.awaitedShown) }
    }
    audit.tally.count(seen.contains(true) ? .focusShown : .focusHidden)
  }

  /// All values of the user's Focus during the present step.
  private func focuses(of user: UserID) -> Set<Bool?> {
    let people = [before, model].map { $0.people[user] ?? PersonModel() }
    return Set(
      people.flatMap { person in
        let times = person.changes.filter { begun <= $0 && $0 <= clock.now } + [begun, clock.now]
        return times.map { person.isFocused(at: $0) }
      }
    ).union(model.passed[user] ?? [])
  }

  /// Checks that users who share a room have received each other's Focus after a short delay.
  func lookAtShown() throws {
    for slot in World.slots {
      guard let client = clients[slot], client.isTalking else { continue }
      for user in World.users {
        let isShared = client.received.keys.contains { model.isMember(user, of: $0) }
        let truth = model.seesFocus(of: user, slot.user) ? model.people[user]?.isFocused(at: clock.now) ?? nil : nil
        guard isShared, let shown = client.shown[user], shown != truth else {
          client.wrong[user] = nil
          continue
        }
        // The delay counts from the last change of the Focus.
        let known = client.wrong[user].flatMap { $0.truth == truth ? $0 : nil }
        let wrong = known ?? Client.Wrong(truth: truth, since: clock.now)
        client.wrong[user] = wrong
        guard clock.now <= wrong.since + .milliseconds(250) else {
          throw Violation(
            .focused, "\(slot) was shown \(shown.map { "\($0)" } ?? "null") of \(user) last, not \(truth as Any)")
        }
      }
    }
  }

  // MARK: Reports

  func reported(
    _ fields: Fields, _ device: DeviceID, _ isFocused: Bool?, _ at: Timestamp?, _ number: Int64?, _ user: UserID
  ) throws {
    var person = model.people[user] ?? PersonModel()
    let formerNumber = person.focus[device]?.lastReport.number
    let applied: Bool
    if person.focus[device] == nil {
      person.focus[device] = FocusModel(isFocused, at: at, number: number, now: clock.now)
      applied = true
    } else {
      applied = person.focus[device]?.take(isFocused, at: at, number: number, now: clock.now) ?? true
    }
    model.people[user] = person
    if applied {
      model.share(Target(user: user, device: device), now: clock.now) { [now = clock.now] other, device in
        if other.focus[device]?.take(isFocused, at: at, number: nil, now: now) == nil {
          other.focus[device] = FocusModel(isFocused, at: at, number: nil, now: now)
        }
      }
    }
    let claimed = try fields.bool("isFocused")
    guard try fields.bool("applied") == applied else {
      throw Violation(.focused, "\(user)'s \(device): a report is applied: \(!applied)")
    }
    let newest = person.focus[device]?.lastReport.number
    try look(atNumberIn: fields, applied || number == nil ? nil : newest, of: device)
    if applied, let number, let formerNumber, number < formerNumber { audit.tally.count(.clockGaveWay) }
    claims.append { [unowned self] in
      let truth = focuses(of: user)
      guard truth.contains(claimed) else {
        throw Violation(.focused, "\(user) gets \(claimed as Any) as their own Focus, not \(truth)")
      }
    }
    audit.tally.count(applied ? .reportApplied : .reportIgnored)
  }

  func filtered(
    _ fields: Fields, _ device: DeviceID, _ allow: [String]?, _ at: Timestamp?, _ number: Int64?, _ user: UserID
  ) throws {
    var person = model.people[user] ?? PersonModel()
    let applied: Bool
    if person.filters[device] == nil {
      person.filters[device] = FilterModel(allow, at: at, number: number, now: clock.now) { _ in true }
      applied = true
    } else {
      applied = person.filters[device]?.take(allow, at: at, number: number, now: clock.now) ?? true
    }
    model.people[user] = person
    if applied {
      model.share(Target(user: user, device: device), now: clock.now) { [now = clock.now] other, device in
        if other.filters[device]?.take(allow, at: at, number: nil, now: now) == nil {
          other.filters[device] = FilterModel(allow, at: at, number: nil, now: now) { _ in true }
        }
      }
    }
    guard try fields.bool("applied") == applied else {
      throw Violation(.focused, "\(user)'s \(device): a filter is applied: \(!applied)")
    }
    try look(atNumberIn: fields, applied || number == nil ? nil : person.filters[device]?.number, of: device)
  }

  /// Checks that the reply to a report that was not applied names the number that the next report must exceed.
  private func look(atNumberIn fields: Fields, _ expected: Int64?, of device: DeviceID) throws {
    let claimed = try fields.integer("number", 0...maxInteger)
    guard claimed == expected else {
      throw Violation(.focused, "\(device) is told the number \(claimed as Any), not \(expected as Any)")
    }
  }

  // MARK: Messages

  /// Checks `delivery` in the reply to a `send`. Returns the silenced users.
  func delivered(_ fields: Fields, _ place: Place, _ options: PushOptions, to sender: UserID) throws -> [UserID] {
    guard let delivery = try fields.object("delivery") else { throw Violation(.answered, "\(place) has no delivery") }
    let silenced: [UserID] = try delivery.names("quiet", max: 256) ?? []
    claims.append { [unowned self] in try look(at: delivery, silenced, place, options, sender) }
    return silenced
  }

  private func look(
    at delivery: Fields, _ silenced: [UserID], _ place: Place, _ options: PushOptions, _ sender: UserID
  ) throws {
    let models = [(before, begun), (model, clock.now)]
    for user in World.users {
      let expected = Set(models.map { $0.isSilenced(user, to: sender, in: place.room, options, at: $1) })
      guard expected.contains(silenced.contains(user)) else {
        let invariant: Invariant =
          models.contains { $0.0.seesFocus(of: user, sender) } ? .focused : .discreet
        throw Violation(invariant, "\(sender) gets that \(user) is silenced: \(silenced.contains(user))")
      }
    }
    if !silenced.isEmpty { audit.tally.count(.silenced) }
    for (name, kind) in [("live", Model.Presence.live), ("waiting", .waiting), ("push", .push)] {
      let claimed = Int(try delivery.integer(name, 0...maxInteger) ?? -1)
      let others = World.users.filter { $0 != sender }
      let perhaps = others.map { user in
        models.reduce(into: Set<Bool>()) { perhaps, known in
          guard known.0.isMember(user, of: place.room) else { return _ = perhaps.insert(false) }
          let kinds = known.0.presence(of: user, to: sender, in: place.room, at: known.1)
          perhaps.formUnion(kinds.map { $0 == kind })
        }
      }
      let lower = perhaps.count { $0 == [true] }
      let upper = perhaps.count { $0.contains(true) }
      guard (lower...upper).contains(claimed) else {
        throw Violation(.discreet, "\(place): \(claimed) are \(name), not \(lower) to \(upper)")
      }
    }
  }

  func notified(_ fields: Fields, _ place: Place, _ users: [UserID]?, by sender: UserID) throws {
    let named = candidates(place, users)
    guard try fields.integer("push", 0...maxInteger) == Int64(named.count) else {
      throw Violation(.needed, "\(named) are notified of \(place), not \(fields)")
    }
    if !named.isEmpty { audit.tally.count(.notified) }
    model.notify(named, of: place, before: before, now: clock.now)
  }

  private func candidates(_ place: Place, _ users: [UserID]?) -> [UserID] {
    (model.silenced[place] ?? []).filter { users?.contains($0) != false && !model.isNotified(place, $0) }
  }

  /// Checks a `delivery` event: it must not reveal anything about a recipient who hides their Focus, has muted the room
  /// or has blocked the sender.
  func receiveDelivery(_ fields: Fields, _ client: Client) {
    claims.append { [unowned self] in try look(atDelivery: fields, client) }
  }

  private func look(atDelivery fields: Fields, _ client: Client) throws {
    let place = try place(fields)
    let user: UserID = try fields.required("user", fields.name("user"))
    let state = try fields.string("state", maxLength: 20) ?? ""
    guard let message = model.message(at: place), message.from == client.slot.user,
      model.pushOptions[place]?.reports == true
    else { throw Violation(.discreet, "\(client.slot) gets a report about \(place) without a request") }
    let models = [(before, begun), (model, clock.now)]
    let isHidden = models.allSatisfy { $0.isHidden(user, place, from: message.from, at: $1) }
    let isBlocked = models.allSatisfy { $0.0.people[user]?.blocked.contains(message.from) == true }
    guard state == "pushed" || state == "received" && !isBlocked || state == "failed" && !isHidden else {
      throw Violation(.discreet, "\(client.slot) gets the report \(state) about \(place) for \(user)")
    }
    audit.tally.count(isHidden ? .deliveryHidden : .delivery)
  }

  // MARK: Errors

  /// The possible error codes of a reply. An inner `nil` means no error.
  func refusal(of sentRequest: SentRequest, _ user: UserID) -> Set<String?> {
    // The events of the step explain these replies.
    switch sentRequest.request {
    case .call: return [nil, "conflict", "not_found"]
    case .join(World.group, _, _): return [nil, "forbidden"]
    case .create: return [nil, "conflict"]
    // The message may be deleted, and the user may have left the room.
    case .respond: return [nil, "not_found", "not_joined"]
    case .govern: return [nil, "conflict", "forbidden", "not_found", "not_joined"]
    default: break
    }
    guard sentRequest.request.needsMessage, let room = sentRequest.request.room else { return [nil] }
    let place = Place(room: room, seq: sentRequest.seq)
    guard let message = model.message(at: place) else { return ["not_found"] }
    // Another user may delete the message in the same step.
    let isDeleted = before.log(of: room).isDeleted(place.seq)
    let isGoing = model.log(of: room).isGoing(place.seq)
    let found: Set<String?> = isDeleted ? ["not_found"] : isGoing ? [nil, "not_found"] : [nil]
    switch sentRequest.request {
    case .notify(_, _, let users):
      if isDeleted { return found }
      let isForbidden = message.from != user || clock.now >= message.time + .seconds(600)
      let isOverRate = candidates(place, users).contains { model.isOverRate(user, $0, at: clock.now) }
      let code = isForbidden ? "forbidden" : isOverRate ? "rate_limited" : nil
      return Set(found.map { $0 ?? code })
    case .edit where message.from != user: return ["forbidden"]
    case .edit, .react, .unreact: return found
    case .pin:
      let rights = moderates(room, user)
      return rights == [true] ? found : rights == [false] ? ["forbidden"] : found.union(["forbidden"])
    default: return Set(mayDelete(place, user).map { $0 ? nil : "forbidden" })
    }
  }

  /// Returns whether the user may delete a message. Both values are possible if a leave makes the user the owner.
  func mayDelete(_ place: Place, _ user: UserID) -> Set<Bool> {
    model.message(at: place)?.from == user ? [true] : moderates(place.room, user)
  }

  /// Returns whether the user moderates the room. Both values are possible if a leave makes the user the owner.
  func moderates(_ room: RoomID, _ user: UserID) -> Set<Bool> {
    let known = before.rooms[room] ?? RoomModel()
    guard known.role(of: user) < .moderator else { return [true] }
    return known.isOwned && requests > 1 ? [true, false] : [false]
  }
}

extension Model {
  /// True if the sender must not learn how the push to this recipient goes.
  func isHidden(_ user: UserID, _ place: Place, from sender: UserID, at now: Timestamp) -> Bool {
    let person = people[user] ?? PersonModel()
    return person.preferences.shareFocus == .none || person.blocked.contains(sender)
      || person.isMuted(place.room, isMentioned: pushOptions[place]?.mention(user) ?? false, at: now)
  }

  /// True if the sender has notified the user five times within a minute.
  func isOverRate(_ sender: UserID, _ user: UserID, at now: Timestamp) -> Bool {
    let recent = notified.count { place, users in
      message(at: place)?.from == sender && users[user].map { now - $0 < .seconds(60) } ?? false
    }
    return recent >= 5
  }
}
