// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayDelivery
public import RelayProtocol

/// Claims due updates: reads the facts, and performs the decisions of ``RelayDelivery/PhonePlanner``.
extension UpdateQueue {
  /// Claims due updates that are still needed, see ``PushQueue/claimDue(limit:now:leaseUntil:apps:zones:capacity:)``.
  /// - Parameter capacity: The maximum for each lane that has a lower one than `limit`.
  func claim(
    limit: Int, now: Timestamp, leaseUntil: Timestamp, apps: AppEntitlements = AppEntitlements(),
    zones: TimeZones = TimeZones(), capacity: [Lane: Int] = [:]
  ) throws -> [UpdateClaim] {
    let lanes = try reader.queue.lanes().filter(\.isForUpdates)
    let due = try transaction.queue.dueJobs(in: lanes, limit, now: now, capacity)
    guard !due.isEmpty else { return [] }
    var shared = Shared(db: db, now: now, apps: apps, zones: zones)
    var claims: [UpdateClaim] = []
    for job in due {
      guard let update = try update(job.number) else { continue }
      switch try step(for: update, &shared) {
      case .drop: try drop(update.number)
      case .wait(let time, let isSilenced):
        try db.run(
          "UPDATE jobs SET due = ?, is_late = ? WHERE number = ?", [time.rawValue, isSilenced, update.number])
      case .send(var claim):
        try db.run(
          """
          UPDATE jobs SET \(JobEvent.claimed.assignment), lease = ?, attempts = attempts + 1, is_again = 0, is_late = 0
          WHERE number = ? AND \(JobEvent.claimed.condition)
          """,
          [leaseUntil.rawValue, update.number])
        claim.attempts = update.attempts + 1
        try noteTime(of: claim, update, now: now)
        claims.append(claim)
      }
    }
    return claims
  }

  private enum Step {
    /// Nothing is left to do.
    case drop
    /// - isSilenced: A silence holds the text. The end of the silence makes the update due earlier.
    case wait(until: Timestamp, isSilenced: Bool)
    case send(UpdateClaim)
  }

  private func step(for update: DueUpdate, _ shared: inout Shared) throws -> Step {
    guard let device = update.device else { return .drop }
    switch update.kind {
    case .entry: return try entryStep(for: update, on: device, &shared)
    case .phone: return try phoneStep(for: update, on: device, &shared)
    case .silent: return try silent(update).map { .send(update.claim($0, on: device)) } ?? .drop
    }
  }

  private func update(_ number: Int64) throws -> DueUpdate? {
    try db.first(
      """
      SELECT jobs.number, jobs.id, jobs.target, jobs.user, users.name AS user_name, jobs.kind, jobs.room, jobs.seq,
        jobs.attempts, jobs.created, devices.badged, devices.woken, \(Device.columns)
      FROM jobs JOIN users ON users.id = jobs.user
      LEFT JOIN devices ON devices.user = jobs.user AND devices.device = jobs.device
      WHERE jobs.number = ?
      """,
      [number], DueUpdate.init(_:))
  }

  private func silent(_ update: DueUpdate) throws -> UpdateClaim.Content? {
    try db.first(
      """
      SELECT rooms.name, rooms.epoch, \(StoredMessage.columns), \(PushRequest.columns) FROM messages
      JOIN rooms ON rooms.id = messages.room AND NOT (\(Schema.isDeleted("rooms.name")))
      JOIN users AS sender ON sender.id = messages.sender
      LEFT JOIN members ON members.room = messages.room AND members.user = ?3 AND NOT members.is_withdrawn
      WHERE messages.room = ?1 AND messages.seq = ?2 AND NOT messages.is_deleted
        AND coalesce(members.read < messages.seq, \(Schema.isNotifications("rooms.name")))
      """,
      [update.room, update.seq, update.user]
    ) { .silent(RoomID(unchecked: $0["name"]), epoch: $0["epoch"], try StoredMessage($0), try PushRequest($0)) }
  }

  // MARK: One notification

  private func entryStep(for update: DueUpdate, on device: Device, _ shared: inout Shared) throws -> Step {
    guard let job = update.job else { return .drop }
    if try db.has("SELECT 1 FROM jobs WHERE id = ? AND state = 'sending'", [job]) {
      // The update must follow the push that it changes.
      return .wait(until: shared.now + .seconds(1), isSilenced: false)
    }
    let content = try transaction.digests.content(of: job)
    guard let facts = try facts(of: job, showing: content?.newest ?? job, &shared) else { return .drop }
    // The number of unread messages has changed, whatever the phone shows.
    if facts.entry.isDeleted { try touch(device.id.rawValue, ofRow: update.user) }
    var plan = PhonePlanner.plan(facts.entry)
    // A digest without messages has nothing left to show.
    if let content, content.newest == nil { plan = facts.entry.state == .shown ? .remove : .nothing }
    switch plan {
    case .nothing: return facts.ringsUntil.map { .wait(until: $0, isSilenced: false) } ?? .drop
    case .wait(let end): return .wait(until: end, isSilenced: true)
    case .remove:
      try hideEntry(of: job)
      return .drop
    case .replace(let text):
      let shown = try transaction.queue.change(
        of: content?.newest ?? job, isDeleted: facts.entry.isDeleted, &shared)
      guard var claim = shown else { return .drop }
      if let content {
        claim.collapse = facts.collapse
        let rest = try transaction.digests.digest(
          "job.number IN (SELECT value FROM json_each(?1))", [StoredJSON.text(of: content.rest)], in: facts.room)
        (claim.count, claim.others) = (rest.count, rest.others)
      }
      let newest = try newestAlert(on: device, shared)
      let kept =
        text == .missed
        ? claim.message.time + PushRequest.maxLifetime
        : PhonePlanner.keptUntil(newest: newest?.keptUntil, isNewest: newest?.job == job)
      return .send(update.claim(.change(text, of: job, claim), on: device, keptUntil: kept))
    }
  }

  private struct EntryFacts {
    let entry: PhoneEntry
    let room: Int64
    /// The message whose collapse id the notification has.
    let collapse: MessageReference
    /// The end of the ringing of a call, if it is not over.
    let ringsUntil: Timestamp?
  }

  /// - Parameters:
  ///   - job: The job of the notification.
  ///   - shown: The job whose message the notification shows.
  private func facts(of job: String, showing shown: String, _ shared: inout Shared) throws -> EntryFacts? {
    let row = try db.first(
      """
      SELECT users.name AS user_name, job.device, job.room AS room_id, rooms.name AS room, job.expires,
        (SELECT \(Self.entryState) FROM jobs WHERE id = ?1) AS entry_state, members.read, members.received,
        calls.state AS call_state, calls.ring_until, party.state AS party_state, party.device AS party_device,
        collapsed.name AS collapse_room, coalesce(head.collapse_seq, head.seq) AS collapse_seq,
        messages.push_collapse = '\(CollapseScope.room.rawValue)' AND EXISTS (
          SELECT 1 FROM jobs AS newer INDEXED BY jobs_message
          JOIN messages AS later ON later.room = newer.room AND later.seq = newer.seq
            AND later.push_collapse = messages.push_collapse
          WHERE newer.user = job.user AND newer.device = job.device AND newer.room = job.room AND newer.seq > job.seq
            AND newer.kind = 'push' AND newer.state = 'sent') AS is_replaced,
        \(MessageHead.columns)
      FROM jobs AS job
      JOIN jobs AS head ON head.id = ?1
      JOIN users ON users.id = job.user
      JOIN rooms ON rooms.id = job.room
      JOIN messages ON messages.room = job.room AND messages.seq = job.seq
      JOIN users AS sender ON sender.id = messages.sender
      LEFT JOIN members ON members.room = job.room AND members.user = job.user
      LEFT JOIN calls ON calls.room = job.room AND calls.seq = job.seq
      LEFT JOIN call_parties AS party ON party.room = job.room AND party.seq = job.seq AND party.user = job.user
      LEFT JOIN rooms AS collapsed ON collapsed.id = coalesce(head.collapse_room, head.room)
      WHERE job.id = ?2
      """,
      [job, shown])
    guard let row else { return nil }
    let (room, user) = (RoomID(unchecked: row["room"]), UserID(unchecked: row["user_name"]))
    let message = try MessageHead(row)
    guard let recipient = try shared.recipient(named: user),
      let device = recipient.devices.first(where: { $0.id.rawValue == row["device"] })
    else { return nil }
    let call = try CallFacts(row, kind: message.traits.push.kind, expires: row.time("expires"))
    var traits = message.traits
    // The decision is about a phone that shows the message. A call expires with its ringing.
    traits.isDeleted = false
    let read: Int64? = row["read"]
    let membership =
      room.isNotifications
      ? Membership.absent
      : Membership(read.map { Marks(read: $0, received: row["received"]) }, nil, at: message.seq, shown: message.time)
    var facts = shared.deliveryCase(
      of: PlanMessage(traits, in: room, at: message.time), for: user, recipient, membership, on: device)
    // The ringing of a call ends, but its notification stays.
    if call.isCall { facts.message.expires = message.time + PushRequest.maxLifetime }
    let collapseRoom: String? = row["collapse_room"]
    let entry = PhoneEntry(
      state: try row.choice("entry_state"), isReplaced: row["is_replaced"] ?? false,
      isDeleted: message.traits.isDeleted, callEnd: call.end(on: device.id, now: shared.now),
      rings: call.isCall && facts.device?.hasVoIPToken == true, later: laterPush(facts))
    return EntryFacts(
      entry: entry, room: row["room_id"],
      collapse: MessageReference(room: collapseRoom.map(RoomID.init(unchecked:)) ?? room, seq: row["collapse_seq"]),
      ringsUntil: entry.callEnd == nil ? call.ringsUntil : nil)
  }

  // MARK: One device

  private func phoneStep(for update: DueUpdate, on device: Device, _ shared: inout Shared) throws -> Step {
    let state = PhoneState(
      platform: device.platform, allowsAlerts: device.allowsAlerts,
      badge: try knownBadge(on: device, shared),
      wantedBadge: try shared.badge(of: update.user, on: device),
      hasRemovals: try hasDueRemovals(of: device.id.rawValue, ofRow: update.user), badged: update.badged,
      woken: update.woken)
    let (push, next) = PhonePlanner.plan(state, now: shared.now)
    guard let push else { return next.map { .wait(until: $0, isSilenced: false) } ?? .drop }
    var claim = update.claim(.phone(push), on: device)
    if push.removes { claim.removals = try openRemovals(of: device.id.rawValue, ofRow: update.user) }
    if let newest = try newestAlert(on: device, shared) {
      claim.keptUntil = PhonePlanner.keptUntil(
        newest: newest.keptUntil, isNewest: claim.removals.covers(newest.message))
    }
    return .send(claim)
  }

  /// The badge that a phone shows: that of its newest push with a badge. Is `nil` when it is unknown.
  private func knownBadge(on device: Device, _ shared: Shared) throws -> Int? {
    var newest: (time: Timestamp, badge: Int)?
    for account in try shared.accounts(on: device) {
      let pushed = try db.first(
        """
        SELECT finished_at AS time, badge FROM jobs INDEXED BY jobs_user
        WHERE user = ? AND kind = 'push' AND device = ? AND state = 'sent' AND badge IS NOT NULL
        ORDER BY number DESC LIMIT 1
        """,
        [account.user, account.device])
      let set = try db.first(
        "SELECT badged AS time, badge FROM devices WHERE user = ? AND device = ? AND badge IS NOT NULL",
        [account.user, account.device])
      for row in [pushed, set] {
        guard let row, let time = row.time("time") else { continue }
        if time >= newest?.time ?? time { newest = (time, row["badge"]) }
      }
    }
    return newest?.badge
  }

  /// The newest alert that a service may keep for a phone.
  private struct NewestAlert {
    let job: String
    let message: MessageReference
    /// Is `nil` if the service does not keep it.
    let keptUntil: Timestamp?
  }

  private func newestAlert(on device: Device, _ shared: Shared) throws -> NewestAlert? {
    var newest: (time: Timestamp, alert: NewestAlert)?
    for account in try shared.accounts(on: device) {
      // The push in progress becomes the newest alert.
      let isPushing = try db.has(
        "SELECT 1 FROM jobs WHERE user = ? AND device = ? AND state = 'sending' AND kind = 'push'",
        [account.user, account.device])
      if isPushing { return nil }
      let pushed = try db.first(
        """
        SELECT job.id, job.finished_at AS time, job.expires AS kept, rooms.name AS room, job.seq
        FROM jobs AS job INDEXED BY jobs_user
        JOIN rooms ON rooms.id = job.room
        LEFT JOIN messages ON messages.room = job.room AND messages.seq = job.seq
        WHERE job.user = ?1 AND job.kind = 'push' AND job.device = ?2 AND job.state = 'sent'
          AND NOT (?3 AND (coalesce(messages.push_kind = '\(MessageKind.call.rawValue)', 0)
            OR EXISTS (SELECT 1 FROM calls WHERE calls.room = job.room AND calls.seq = job.seq)))
          AND job.token = ?4
        ORDER BY job.finished_at DESC, job.number DESC LIMIT 1
        """,
        [account.user, account.device, shared.rings(device), device.token])
      let changed = try db.first(
        """
        SELECT job.id, devices.alerted AS time, devices.alert_kept AS kept, rooms.name AS room, job.seq FROM devices
        JOIN jobs AS job ON job.id = devices.alert_job JOIN rooms ON rooms.id = job.room
        WHERE devices.user = ?1 AND devices.device = ?2
        """,
        [account.user, account.device])
      for row in [changed, pushed] {
        guard let row, let time = row.time("time") else { continue }
        guard time >= newest?.time ?? time else { continue }
        newest = (
          time,
          NewestAlert(
            job: row["id"], message: MessageReference(room: RoomID(unchecked: row["room"]), seq: row["seq"]),
            keptUntil: row.time("kept"))
        )
      }
    }
    return newest?.alert
  }

  // MARK: Results

  private func noteTime(of claim: UpdateClaim, _ update: DueUpdate, now: Timestamp) throws {
    let device: StatementArguments = [update.user, claim.device.id.rawValue]
    switch claim.content {
    case .phone(let phone):
      if let badge = phone.badge {
        try db.run(
          "UPDATE devices SET badge = ?3, badged = ?4 WHERE user = ?1 AND device = ?2", device + [badge, now.rawValue])
      }
      if phone.removes { try noteWake(of: claim.device, now: now) }
    case .silent: try noteWake(of: claim.device, now: now)
    case .change: break
    }
  }

  /// A missed call is a new notification, which the service keeps as the newest alert of its phone.
  private func noteAlert(_ job: String, of claim: UpdateClaim) throws {
    guard let kept = claim.keptUntil, let user = try row(of: claim.recipient) else { return }
    try db.run(
      """
      UPDATE devices SET alert_job = ?3, alerted = ?4, alert_kept = ?5
      WHERE user = ?1 AND device = ?2 AND token = ?6
      """,
      [user, claim.device.id.rawValue, job, now.rawValue, kept.rawValue, claim.device.token])
  }

  /// The pause between two wakes is that of the phone, so it applies to all accounts on it.
  private func noteWake(of device: Device, now: Timestamp) throws {
    try db.run(
      "UPDATE devices SET woken = ? WHERE token = ? AND platform = ?",
      [now.rawValue, device.token, device.platform.rawValue])
  }

  /// Ends an update that was sent. If another change was made meanwhile, or a removal is left, it is planned again.
  public func finish(_ claim: UpdateClaim) throws {
    try sent(claim.removals, to: claim.device.id, of: claim.recipient)
    guard case .change(let text, of: let job, _) = claim.content else { return try finish(claim.id) }
    if text == .missed { try noteAlert(job, of: claim) }
    try replaced(job, by: text)
    // A call that was edited still rings, and ends later.
    try finish(claim.id, ringsOn: text == .current)
  }

  /// Ends an update without a result.
  public func finish(_ id: String) throws { try finish(id, ringsOn: true) }

  private func finish(_ id: String, ringsOn: Bool) throws {
    let row = try db.first("SELECT number, is_again FROM jobs WHERE id = ? AND \(Schema.updates)", [id])
    guard let row else { return }
    let number: Int64 = row["number"]
    guard let due = try row["is_again"] ? now : nextDue(number, ringsOn: ringsOn) else { return try drop(number) }
    let event = JobEvent.repeated
    try db.run(
      "UPDATE jobs SET \(event.assignment), lease = NULL, is_again = 0, due = ? WHERE number = ? AND \(event.condition)",
      [due.rawValue, number])
  }

  /// The time at which an update is planned again: now if the device has removals that were never sent, and at the end
  /// of the ringing for a call that rings on. Is `nil` if nothing is left.
  private func nextDue(_ number: Int64, ringsOn: Bool) throws -> Timestamp? {
    try db.first(
      """
      SELECT CASE kind
        WHEN 'phone' THEN (
          SELECT ?2 FROM removals
          WHERE removals.user = jobs.user AND removals.device = jobs.device AND \(Self.isRemovalDue) LIMIT 1)
        WHEN 'entry' THEN (
          SELECT job.expires FROM jobs AS job
          JOIN messages ON messages.room = job.room AND messages.seq = job.seq
            AND messages.push_kind = '\(MessageKind.call.rawValue)'
          WHERE ?3 AND job.id = jobs.target AND job.expires > ?2 AND NOT \(CallReader.ringsNoMore)) END AS due
      FROM jobs WHERE number = ?1
      """,
      [number, now.rawValue, ringsOn])?.time("due")
  }

  private func drop(_ number: Int64) throws {
    try db.run("DELETE FROM jobs WHERE number = ?", [number])
  }

  /// Makes the updates due whose text a silence has held.
  public func endSilence(of user: UserID) throws {
    guard let id = try row(of: user) else { return }
    try db.run(
      "UPDATE jobs SET due = ?, is_late = 0 WHERE \(Schema.updates) AND user = ? AND is_late AND state <> 'sending'",
      [now.rawValue, id])
    cache.updates.notify()
  }

  /// Makes an update due again later.
  /// - Parameter wasTried: False if the gateway did not try, so that the attempt does not count.
  public func retry(_ id: String, due: Timestamp, wasTried: Bool = true) throws {
    try db.run(
      """
      UPDATE jobs SET \(JobEvent.retried.assignment), lease = NULL, is_again = 0, due = ?,
        attempts = max(0, attempts - ?)
      WHERE id = ? AND \(JobEvent.retried.condition)
      """,
      [due.rawValue, wasTried ? 0 : 1, id])
  }
}

/// The facts about the call of a message, as one user sees it.
private struct CallFacts {
  let isCall: Bool
  /// The end of the ringing. Is `nil` for a message.
  let ringsUntil: Timestamp?
  private let state: Call.State?
  private let party: Call.Party.State?
  private let device: String?

  /// - Parameters:
  ///   - row: Has the columns `call_state`, `ring_until`, `party_state`, `party_device` and those of ``MessageHead``.
  ///   - expires: The end of the push of a message that rings without a call.
  init(_ row: Row, kind: MessageKind, expires: Timestamp?) throws {
    isCall = kind == .call
    state = try row.choiceIfAny("call_state")
    party = try row.choiceIfAny("party_state")
    device = row["party_device"]
    // A deleted message is no call any more, although the row of its call stays.
    ringsUntil = isCall ? row.time("ring_until") ?? expires : nil
  }

  /// The end of the call for the user. Is `nil` while it rings.
  func end(on device: DeviceID, now: Timestamp) -> CallEnd? {
    guard isCall else { return nil }
    let isHere = self.device == device.rawValue
    switch party {
    case .declined: return .declined(isHere: isHere)
    case .answered, .left: return .answered(isHere: isHere)
    case nil: return state?.isOver == true || ringsUntil.map { now >= $0 } == true ? .missed : nil
    }
  }
}

private struct DueUpdate {
  let number: Int64
  let id: String
  /// The job whose notification it plans again.
  let job: String?
  let user: Int64
  let name: UserID
  let kind: UpdateKind
  let room, seq: Int64
  let attempts: Int
  let created: Timestamp
  /// The device as it is registered now. Is `nil` when it is not registered.
  let device: Device?
  /// The times of the newest pushes that only set the badge, and that woke the app.
  let badged, woken: Timestamp?

  init(_ row: Row) throws {
    number = row["number"]
    id = row["id"]
    job = row["target"]
    user = row["user"]
    name = UserID(unchecked: row["user_name"])
    kind = try row.choice("kind")
    room = row["room"]
    seq = row["seq"]
    attempts = row["attempts"]
    created = row.timestamp("created")
    device = try Device(ifAny: row)
    badged = row.time("badged")
    woken = row.time("woken")
  }

  func claim(_ content: UpdateClaim.Content, on device: Device, keptUntil: Timestamp? = nil) -> UpdateClaim {
    UpdateClaim(
      id: id, attempts: attempts, created: created, recipient: name, device: device, content: content,
      keptUntil: keptUntil)
  }
}
