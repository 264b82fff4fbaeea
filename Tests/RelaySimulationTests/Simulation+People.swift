// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayJSON
import RelayProtocol

@testable import RelayCore
@testable import RelayHTTP

/// What clients are told of people: who is there, whose Focus is on, and how it goes with their messages.
extension Simulation {
  // MARK: Who is there

  func entries(_ fields: Fields, _ key: String) throws -> [Fields] {
    guard case .array(let items)? = fields.members[key] else { return [] }
    return try items.map { try Fields($0) }
  }

  /// An entry: of a Focus that is not shared nothing, and of one that is nothing else than what the devices say.
  func see(_ entry: Fields, _ client: Client) throws {
    let user: UserID = try entry.required("user", entry.name("user"))
    client.shown.updateValue(try entry.bool("isFocused"), forKey: user)
    claims.append { [unowned self] in try look(at: entry, of: user, shownTo: client) }
  }

  private func look(at entry: Fields, of user: UserID, shownTo client: Client) throws {
    let (viewer, told) = (client.slot.user, try entry.bool("isFocused"))
    let what = "\(client.slot) is shown \(told.map { "\($0)" } ?? "null") as the Focus of \(user)"
    guard entry.has("isFocused"), told == true || !entry.has("focusSince") else {
      throw Violation(.focused, "\(what), with a time or without a word")
    }
    // Of two changes of the step either may have come first: who is a member, and what people share.
    let models = [before, model, before.with(membersOf: model), model.with(membersOf: before)]
    let seen = Set(models.map { $0.seesFocus(of: user, viewer) })
    let truth = seen == [false] ? [] : focuses(of: user)
    guard seen.contains(true) || told == nil else { throw Violation(.discreet, "\(what), and may not know") }
    // Who has joined or left is shown nothing until it is known which rooms are shared still.
    let isInDoubt = World.rooms.contains { room in
      [user, viewer].contains { before.isMember($0, of: room) != model.isMember($0, of: room) }
    }
    guard truth.contains(told) || (isInDoubt || seen.contains(false)) && told == nil else {
      throw Violation(.focused, "\(what), and it is \(truth)")
    }
    let isOnlineSeen = models.contains { $0.seesOnline(of: user, viewer) }
    guard try isOnlineSeen || entry.bool("online") != true && !entry.has("activity") && !entry.has("lastSeen") else {
      throw Violation(.discreet, "\(client.slot) is shown that \(user) is there")
    }
    audit.tally.count(seen.contains(true) ? .focusShown : .focusHidden)
  }

  /// All that it has been in the step that is being made.
  private func focuses(of user: UserID) -> Set<Bool?> {
    let people = [before, model].map { $0.people[user] ?? PersonModel() }
    return Set(
      people.flatMap { person in
        let times = person.changes.filter { begun <= $0 && $0 <= clock.now } + [begun, clock.now]
        return times.map { person.isFocused(at: $0) }
      }
    ).union(model.passed[user] ?? [])
  }

  /// Who shares a room knows, a moment after it was so, whose Focus is on.
  func lookAtShown() throws {
    for slot in World.slots {
      guard let client = clients[slot], !client.isEnding, !client.isFrozen else { continue }
      for user in World.users {
        let isShared = client.heard.keys.contains { model.isMember(user, of: $0) }
        let truth = model.seesFocus(of: user, slot.user) ? model.people[user]?.isFocused(at: clock.now) ?? nil : nil
        guard isShared, let shown = client.shown[user], shown != truth else {
          client.wrong[user] = nil
          continue
        }
        // What is late is counted from when it last became true.
        let known = client.wrong[user].flatMap { $0.truth == truth ? $0 : nil }
        let wrong = known ?? Client.Wrong(truth: truth, since: clock.now)
        client.wrong[user] = wrong
        guard clock.now <= wrong.since + .milliseconds(250) else {
          throw Violation(
            .focused, "\(slot) was shown \(shown.map { "\($0)" } ?? "null") of \(user) last, and it is \(truth as Any)")
        }
      }
    }
  }

  // MARK: Reports

  func reported(
    _ fields: Fields, _ device: DeviceID, _ isFocused: Bool?, _ at: Timestamp?, _ number: Int64?, _ user: UserID
  ) throws {
    var person = model.people[user] ?? PersonModel()
    let applied: Bool
    if person.focus[device] == nil {
      person.focus[device] = FocusModel(isFocused, at: at, number: number, now: clock.now)
      applied = true
    } else {
      applied = person.focus[device]?.take(isFocused, at: at, number: number, now: clock.now) ?? true
    }
    model.people[user] = person
    let told = try fields.bool("isFocused")
    guard try fields.bool("applied") == applied else {
      throw Violation(.focused, "\(user)'s \(device): a report is applied: \(!applied)")
    }
    claims.append { [unowned self] in
      let truth = focuses(of: user)
      guard truth.contains(told) else {
        throw Violation(.focused, "\(user) is told \(told as Any) of their own Focus, and it is \(truth)")
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
    guard try fields.bool("applied") == applied else {
      throw Violation(.focused, "\(user)'s \(device): a filter is applied: \(!applied)")
    }
  }

  // MARK: Messages

  /// `delivery` of the reply to a `send`. Returns who is quiet.
  func delivered(_ fields: Fields, _ place: Place, _ wish: PushWish, to sender: UserID) throws -> [UserID] {
    guard let delivery = try fields.object("delivery") else { throw Violation(.answered, "\(place) has no delivery") }
    let quiet: [UserID] = try delivery.names("quiet", most: 256) ?? []
    claims.append { [unowned self] in try look(at: delivery, quiet, place, wish, sender) }
    return quiet
  }

  private func look(
    at delivery: Fields, _ quiet: [UserID], _ place: Place, _ wish: PushWish, _ sender: UserID
  ) throws {
    let models = [(before, begun), (model, clock.now)]
    for user in World.users {
      let expected = Set(models.map { $0.isQuiet(user, to: sender, in: place.room, wish, at: $1) })
      guard expected.contains(quiet.contains(user)) else {
        let invariant: Invariant =
          models.contains { $0.0.seesFocus(of: user, sender) } ? .focused : .discreet
        throw Violation(invariant, "\(sender) is told that \(user) is quiet: \(quiet.contains(user))")
      }
    }
    if !quiet.isEmpty { audit.tally.count(.quiet) }
    for (name, kind) in [("live", Model.Presence.live), ("waiting", .waiting), ("push", .push)] {
      let told = Int(try delivery.integer(name, 0...largestInteger) ?? -1)
      let others = World.users.filter { $0 != sender }
      let perhaps = others.map { user in
        models.reduce(into: Set<Bool>()) { perhaps, known in
          guard known.0.isMember(user, of: place.room) else { return _ = perhaps.insert(false) }
          let kinds = known.0.presence(of: user, to: sender, in: place.room, at: known.1)
          perhaps.formUnion(kinds.map { $0 == kind })
        }
      }
      let least = perhaps.count { $0 == [true] }
      let most = perhaps.count { $0.contains(true) }
      guard (least...most).contains(told) else {
        throw Violation(.discreet, "\(place): \(told) are \(name), not \(least) to \(most)")
      }
    }
  }

  func notified(_ fields: Fields, _ place: Place, _ users: [UserID]?, by sender: UserID) throws {
    let named = candidates(place, users)
    guard try fields.integer("push", 0...largestInteger) == Int64(named.count) else {
      throw Violation(.needed, "\(named) are notified of \(place), not \(fields)")
    }
    if !named.isEmpty { audit.tally.count(.notified) }
    model.notify(named, of: place, before: before, now: clock.now)
  }

  private func candidates(_ place: Place, _ users: [UserID]?) -> [UserID] {
    (model.quiet[place] ?? []).filter { users?.contains($0) != false && !model.isNotified(place, $0) }
  }

  /// A `delivery` event: of who does not share their Focus, or does not want to hear of it, none that tells so.
  func hearOfDelivery(_ fields: Fields, _ client: Client) {
    claims.append { [unowned self] in try look(atDelivery: fields, client) }
  }

  private func look(atDelivery fields: Fields, _ client: Client) throws {
    let place = try place(fields)
    let user: UserID = try fields.required("user", fields.name("user"))
    let state = try fields.string("state", longest: 20) ?? ""
    guard let message = model.message(at: place), message.from == client.slot.user, model.wishes[place]?.reports == true
    else { throw Violation(.discreet, "\(client.slot) is told of \(place), and did not ask") }
    let models = [(before, begun), (model, clock.now)]
    let isHidden = models.allSatisfy { $0.isHidden(user, place, from: message.from, at: $1) }
    let isBlocked = models.allSatisfy { $0.0.people[user]?.blocked.contains(message.from) == true }
    guard state == "pushed" || state == "received" && !isBlocked || state == "failed" && !isHidden else {
      throw Violation(.discreet, "\(client.slot) is told that \(place) has \(state) to \(user)")
    }
    audit.tally.count(isHidden ? .deliveryHidden : .delivery)
  }

  // MARK: Refusals

  /// What the answer may be; nil within: no error.
  func refusal(of asking: Asking, _ user: UserID) -> Set<String?> {
    guard asking.ask.needsMessage, let room = asking.ask.room else { return [nil] }
    let place = Place(room: room, seq: asking.seq)
    guard let message = model.message(at: place) else { return ["not_found"] }
    let isDeleted = model.log(of: room).isDeleted(place.seq)
    let isGoing = model.log(of: room).isGoing(place.seq)
    switch asking.ask {
    case .notify(_, _, let users):
      if isDeleted { return ["not_found"] }
      if message.from != user { return isGoing ? ["forbidden", "not_found"] : ["forbidden"] }
      if clock.now >= message.time + .seconds(600) { return ["forbidden"] }
      return candidates(place, users).contains { model.isOverRate(user, $0, at: clock.now) } ? ["rate_limited"] : [nil]
    case .edit:
      if message.from != user { return ["forbidden"] }
      return isDeleted ? ["not_found"] : [nil]
    default: return message.from == user ? [nil] : ["forbidden"]
    }
  }
}

extension Model {
  /// Whether of this recipient the sender may not know how a push goes.
  func isHidden(_ user: UserID, _ place: Place, from sender: UserID, at now: Timestamp) -> Bool {
    let person = people[user] ?? PersonModel()
    return person.preferences.shareFocus == .none || person.blocked.contains(sender)
      || person.isMuted(place.room, isMentioned: wishes[place]?.mentions.contains(user) ?? false, at: now)
  }

  /// Five times within a minute one may be notified anyway by the same sender.
  func isOverRate(_ sender: UserID, _ user: UserID, at now: Timestamp) -> Bool {
    let recent = notified.count { place, users in
      message(at: place)?.from == sender && users[user].map { now - $0 < .seconds(60) } ?? false
    }
    return recent >= 5
  }
}
