// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import RelayStore

extension Model {
  /// Checks the disk after a start, and continues with its state.
  /// - Parameters:
  ///   - drafts: The push options of each message, by its body.
  ///   - end: The time whose marks must be stored.
  ///   - unanswered: The requests that may have succeeded or not.
  ///   - refused: The tokens of devices that may have been deleted.
  mutating func adopt(
    _ disk: Disk, drafts: [Int: PushOptions], end: Timestamp, unanswered: [Unanswered], refused: Set<String>,
    now: Timestamp
  ) throws {
    for room in World.rooms { try adopt(room, disk.rooms[room], drafts, unanswered, disk.silenced) }
    let memberships = World.rooms.flatMap { room in World.users.map { Membership(room: room, user: $0) } }
    for membership in memberships {
      try adopt(
        membership, disk.members[membership], end: end,
        isRequested: unanswered.contains { $0.changes(membership) },
        unanswered: unanswered.filter { $0.user == membership.user }.map(\.sentRequest.request), now: now)
    }
    try adopt(disk.devices, unanswered: unanswered, refused: refused, now: now)
    for user in World.users { try adopt(disk.people[user], of: user, unanswered, now: now) }
    try adopt(disk.silenced, unanswered, now: now)
    for (key, first) in keys where now < first.time + Self.keyLifetime {
      guard disk.keys[key]?.seq == first.seq else { throw Violation(.kept, "\(key) of \(first) is not stored") }
    }
    keys = disk.keys
    let present = disk.people.filter { $1.activity != nil && $1.activity != .background }
    attendance = Attendance(start: now, present: Set(present.keys))
    settle()
  }

  private mutating func adopt(
    _ room: RoomID, _ found: Disk.Room?, _ drafts: [Int: PushOptions], _ unanswered: [Unanswered],
    _ silenced: [Place: [UserID: Timestamp?]]
  ) throws {
    let log = log(of: room)
    guard let found else {
      guard log.newest == 0 else { throw Violation(.ordered, "\(room) with \(log.newest) messages is not stored") }
      return
    }
    try see(epoch: found.epoch, of: room)
    guard found.seq >= log.newest else {
      throw Violation(.ordered, "\(room) ends with \(found.seq), but \(log.newest) was shown")
    }
    for seq in stride(from: found.first, through: found.seq, by: 1) {
      let place = Place(room: room, seq: seq)
      guard let message = found.messages[seq] else { throw Violation(.ordered, "\(place) is not stored any more") }
      let requested = unanswered.filter {
        $0.sentRequest.request.needsMessage && $0.sentRequest.request.room == room && $0.sentRequest.seq == seq
      }
      guard let known = log[seq] else {
        try see(message, at: place)
        pushOptions[place] = drafts[message.body]
        self.silenced[place] = Set((silenced[place] ?? [:]).keys)
        continue
      }
      let isDeleted = found.deleted.contains(seq)
      guard isDeleted == log.isDeleted(seq) || requested.contains(where: \.sentRequest.request.deletes) else {
        throw Violation(.kept, "\(place) is deleted: \(isDeleted)")
      }
      if isDeleted {
        logs[room]?.delete(seq)
      } else if message.body != known.body {
        guard requested.contains(where: { $0.sentRequest.body == message.body }) else {
          throw Violation(.kept, "\(place) is \(message), but was \(known)")
        }
        logs[room]?.edit(seq, message.body)
      }
    }
  }

  private mutating func adopt(
    _ membership: Membership, _ found: (read: Int64, received: Int64)?, end: Timestamp, isRequested: Bool,
    unanswered: [ClientRequest], now: Timestamp
  ) throws {
    let known = members[membership]
    guard (known == nil) == (found == nil) || isRequested else {
      throw Violation(.kept, "\(membership): \(found == nil ? "no member any more" : "a member again")")
    }
    guard let found else {
      leave(membership)
      return
    }
    if let known {
      // A read is stored before its reply, and a receipt is stored later.
      let (read, mark) = (known.read.latest, known.mark.at(end))
      guard found.read >= read, max(found.read, found.received) >= mark else {
        throw Violation(
          .kept, "\(membership) has \(found) on disk, but had read \(read) and received \(mark) by \(end)")
      }
      guard max(found.read, found.received) <= log(of: membership.room).newest else {
        throw Violation(.kept, "\(membership) has \(found) on disk, above \(log(of: membership.room).newest)")
      }
      guard found.read <= known.read.latest || unanswered.contains(where: { $0.reads(membership.room) }) else {
        throw Violation(.kept, "\(membership) has read \(found.read) on disk, but acknowledged \(known.read.latest)")
      }
      self.read(membership, upTo: found.read, now: now)
      reach(membership, upTo: found.received, now: now)
    }
    members[membership] = Member(read: found.read, received: found.received, now: now)
  }

  private mutating func adopt(
    _ found: [Target: String], unanswered: [Unanswered], refused: Set<String>, now: Timestamp
  ) throws {
    for user in World.users {
      for device in World.devices {
        let target = Target(user: user, device: device)
        let known = devices[target]
        let isRequested = unanswered.contains { other in
          switch other.sentRequest.request {
          // A registration may end another device of the user.
          case .register: other.user == user
          case .forget(let requested): other.user == user && requested == device
          default: false
          }
        }
        guard known.map({ World.tokens[$0.token] }) != found[target] || isRequested else { continue }
        guard isRequested || known.map({ refused.contains(World.tokens[$0.token]) }) ?? false else {
          throw Violation(.kept, "\(target) has \(found[target] ?? "no token"), not \(known as Any)")
        }
        guard let token = found[target] else {
          forget(target)
          continue
        }
        for case .register(device, let requested) in unanswered.filter({ $0.user == user }).map(\.sentRequest.request)
        where World.tokens[requested.token] == token { register(target, requested, now: now) }
      }
    }
  }

  private mutating func adopt(
    _ found: UserRecord?, of user: UserID, _ unanswered: [Unanswered], now: Timestamp
  ) throws {
    let known = people[user] ?? PersonModel()
    var person = known
    let isPreferenceRequested = unanswered.contains { $0.user == user && $0.sentRequest.request.prefers }
    let preferences = found?.preferences ?? Preferences()
    guard preferences == known.preferences || isPreferenceRequested else {
      throw Violation(.kept, "\(user) has the preferences \(preferences), not \(known.preferences)")
    }
    person.preferences = preferences
    let isBlockRequested = unanswered.contains { $0.user == user && $0.sentRequest.request.blocks }
    let blocked = Set(found?.blocks ?? [])
    guard blocked == known.blocked || isBlockRequested else {
      throw Violation(.kept, "\(user) has blocked \(blocked), not \(known.blocked)")
    }
    person.blocked = blocked
    let isReportRequested = unanswered.contains { $0.sentRequest.request.reports(of: user, by: $0.user) }
    let focus = Dictionary(
      uniqueKeysWithValues: (found?.focus ?? []).map { record in
        (
          record.device,
          FocusModel(
            record.isFocused, at: record.at, number: record.number, received: record.received, settles: record.settles,
            now: now)
        )
      })
    for device in World.reporters {
      let (a, b) = (focus[device]?.state(at: now), known.focus[device]?.state(at: now))
      guard a == b || isReportRequested else {
        throw Violation(.kept, "\(user)'s \(device) is \(a as Any), not \(b as Any)")
      }
    }
    if isReportRequested { person.focus = focus }
    let filters = Dictionary(
      uniqueKeysWithValues: (found?.filters ?? []).map { record in
        (
          record.device,
          FilterModel(
            record.isActive ? record.allow : nil, at: record.at, number: record.number, received: record.received,
            now: now
          ) { _ in true }
        )
      })
    var read = known
    read.filters = filters
    for device in World.reporters {
      let (a, b) = (read.allowed(by: device, at: now), known.allowed(by: device, at: now))
      guard a == b || isReportRequested else {
        throw Violation(.kept, "\(user)'s \(device) passes \(a as Any), not \(b as Any)")
      }
    }
    if isReportRequested { person.filters = filters }
    people[user] = person
  }

  private mutating func adopt(
    _ found: [Place: [UserID: Timestamp?]], _ unanswered: [Unanswered], now: Timestamp
  ) throws {
    for (place, users) in silenced {
      guard let message = message(at: place), now < message.time + .seconds(600) else { continue }
      for user in users {
        let time = found[place]?[user] ?? nil
        let isRequested = unanswered.contains {
          $0.sentRequest.request.notifies && $0.sentRequest.request.room == place.room
            && $0.sentRequest.seq == place.seq
        }
        guard time == notified[place]?[user] || isRequested else {
          throw Violation(.kept, "\(user) was notified of \(place): \(time as Any)")
        }
        if isRequested { notified[place, default: [:]][user] = time }
      }
    }
  }
}

extension Unanswered {
  /// True if the request may begin or end a membership.
  fileprivate func changes(_ membership: Membership) -> Bool {
    guard sentRequest.request.room == membership.room else { return false }
    return switch sentRequest.request {
    case .join, .leave(_, false), .create: user == membership.user
    case .govern(_, let request): request.user == membership.user
    default: false
    }
  }
}

extension ClientRequest {
  fileprivate var deletes: Bool { if case .delete = self { true } else { false } }

  /// True if the request marks the room as read for its user.
  fileprivate func reads(_ room: RoomID) -> Bool {
    switch self {
    case .send(room, _, _), .read(room, _): true
    default: false
    }
  }

  fileprivate var prefers: Bool { if case .prefer = self { true } else { false } }
  fileprivate var notifies: Bool { if case .notify = self { true } else { false } }

  fileprivate var blocks: Bool {
    switch self {
    case .block, .unblock: true
    default: false
    }
  }

  /// True if the request may change stored reports of `user`'s devices. A report of another user may be about the same
  /// phone.
  fileprivate func reports(of user: UserID, by requester: UserID) -> Bool {
    switch self {
    case .focus, .filter: true
    case .register, .forget: user == requester
    default: false
    }
  }
}
