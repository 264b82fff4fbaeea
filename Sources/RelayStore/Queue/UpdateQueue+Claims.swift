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
  ) throws -> [Claim] {
    let lanes = try reader.queue.lanes().filter(\.isForUpdates)
    let due = try transaction.queue.dueJobs(in: lanes, limit, now: now, capacity)
    guard !due.isEmpty else { return [] }
    var shared = Shared(transaction, now: now, apps: apps, zones: zones)
    var claims: [Claim] = []
    for job in due {
      guard let update = try update(job.number) else { continue }
      switch try step(for: update, &shared) {
      case .drop: try drop(update.number)
      case .wait(let time, let isSilenced):
        try db.run(
          "UPDATE jobs SET due = ?, is_late = ?, note = NULL WHERE number = ?",
          [time.rawValue, isSilenced, update.number])
      case .follow:
        try db.run(
          "UPDATE jobs SET due = ?, is_late = 0, note = '\(Self.followsPush)' WHERE number = ?",
          [(now + Self.patience).rawValue, update.number])
      case .send(var claim):
        try db.run(
          """
          UPDATE jobs SET \(JobEvent.claimed.assignment), lease = ?, attempts = attempts + 1, is_again = 0, is_late = 0
          WHERE number = ? AND \(JobEvent.claimed.condition)
          """,
          [leaseUntil.rawValue, update.number])
        claim.attempts = update.attempts + 1
        claims.append(claim)
      }
    }
    return claims
  }

  private enum Step {
    /// Nothing is left to do.
    case drop
    /// A push to the phone is on its way. Its end makes the update due, see ``arrived(at:ofRow:)``.
    case follow
    /// - isSilenced: A silence holds the text. The end of the silence makes the update due earlier.
    case wait(until: Timestamp, isSilenced: Bool)
    case send(Claim)
  }

  private func step(for update: DueUpdate, _ shared: inout Shared) throws -> Step {
    guard let device = update.device else { return .drop }
    switch update.kind {
    case .entry: return try entryStep(for: update, on: device, &shared)
    case .phone: return try phoneStep(for: update, on: device, &shared)
    case .silent: return try silentStep(for: update, on: device, shared)
    }
  }

  private func update(_ number: Int64) throws -> DueUpdate? {
    try db.first(
      """
      SELECT jobs.number, jobs.id, jobs.target, jobs.user, users.name AS user_name, jobs.kind, jobs.room, jobs.seq,
        jobs.attempts, jobs.created, jobs.steps, devices.badge, devices.badged + ?2 AS badged,
        devices.woken + ?2 AS woken, devices.alert_job, devices.alert_kept + ?2 AS alert_kept, \(Device.columns)
      FROM jobs JOIN users ON users.id = jobs.user
      LEFT JOIN devices ON devices.user = jobs.user AND devices.device = jobs.device
      WHERE jobs.number = ?1
      """,
      [number, transaction.steps.milliseconds], DueUpdate.init(_:))
  }

  // MARK: One silent push

  private func silentStep(for update: DueUpdate, on device: Device, _ shared: Shared) throws -> Step {
    guard let content = try silent(update) else { return .drop }
    // The pause starts when the phone has got the push that is on its way. This one was stored before that.
    if try isPushing("kind IN ('phone', 'silent')", to: device, shared) { return .follow }
    let due = PhonePlanner.wakeTime(after: update.woken, now: shared.now)
    return due > shared.now ? .wait(until: due, isSilenced: false) : .send(update.claim(content, on: device))
  }

  private func silent(_ update: DueUpdate) throws -> Claim.Content? {
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
    guard let job = update.job,
      let target = try db.first("SELECT state, \(Self.entryState) AS entry_state FROM jobs WHERE id = ?", [job])
    else { return .drop }
    switch try target.choice("state") as JobState {
    // The update must follow the push that it changes.
    case .sending: return .follow
    // The next attempt has the present text.
    case .ready, .retrying: return .drop
    default: break
    }
    guard let digest = try transaction.digests.content(of: job) else {
      return try facts(of: job, showing: job, &shared).map { facts in
        try step(for: update, on: device, job, facts, PhonePlanner.plan(facts.entry), showing: [], &shared)
      } ?? .drop
    }
    return try digestStep(for: update, on: device, job, digest, isShown: target.choice("entry_state"), &shared)
  }

  /// A digest shows the messages whose later pushes may show text.
  private func digestStep(
    for update: DueUpdate, on device: Device, _ job: String, _ digest: [Digests.Content], isShown state: EntryState,
    _ shared: inout Shared
  ) throws -> Step {
    let candidates = try digest.compactMap { content in
      try facts(of: job, showing: content.job, &shared).map { (content: content, facts: $0) }
    }
    let shown = candidates.filter { $0.facts.entry.later == .show }
    // A digest without messages has nothing left to show.
    guard let facts = (shown.first ?? candidates.first)?.facts else { return try removal(of: job, ifShown: state) }
    let plan = PhonePlanner.plan(facts.entry)
    switch plan {
    case .nothing, .wait:
      // The text of a lost message must go, even if no new text may be shown.
      if try transaction.digests.hasLost(job) { return try removal(of: job, ifShown: state) }
    case .replace, .remove: break
    }
    return try step(for: update, on: device, job, facts, plan, showing: shown.map(\.content), &shared)
  }

  private func removal(of job: String, ifShown state: EntryState) throws -> Step {
    if state == .shown { try hideEntry(of: job) }
    return .drop
  }

  /// - Parameter digest: The messages of a digest, the newest first. Empty for a single message.
  private func step(
    for update: DueUpdate, on device: Device, _ job: String, _ facts: EntryFacts, _ plan: EntryPlan,
    showing digest: [Digests.Content], _ shared: inout Shared
  ) throws -> Step {
    // A deletion changes the number of unread messages, also if the phone shows no notification of the message.
    if facts.entry.isDeleted { try touch(device.id.rawValue, ofRow: update.user) }
    switch plan {
    case .nothing: return facts.ringsUntil.map { .wait(until: $0, isSilenced: false) } ?? .drop
    case .wait(let end): return .wait(until: end, isSilenced: true)
    case .remove:
      try hideEntry(of: job)
      return .drop
    case .replace(let text):
      let newest = try transaction.queue.shown(
        by: digest.first?.job ?? job, isDeleted: facts.entry.isDeleted, &shared)
      guard var shown = newest else { return .drop }
      if !digest.isEmpty {
        // The notification stays that of the head, whichever message is the newest.
        (shown.notification, shown.collapse, shown.collapseScope) = (job, facts.collapse, facts.collapseScope)
        let rest = try transaction.digests.digest(
          "job.number IN (SELECT value FROM json_each(?1))", [StoredJSON.text(of: digest.dropFirst().map(\.number))],
          in: facts.room)
        (shown.count, shown.others) = (rest.count, rest.others)
      }
      let end = transaction.clock.wallTime(shown.message.time, steps: shown.steps) + PushRequest.maxLifetime
      let kept =
        text == .missed
        ? end
        : PhonePlanner.keptUntil(
          newest: update.alertKept,
          isNewest: try update.alertJob == job && !isPushing(Self.changesPhone, to: device, shared), end: end,
          on: device.platform)
      return .send(update.claim(.change(text, shown), on: device, keptUntil: kept))
    }
  }

  private struct EntryFacts {
    let entry: PhoneEntry
    let room: Int64
    /// The message whose collapse id the notification has, and the scope of this id.
    let collapse: MessageReference
    let collapseScope: CollapseScope
    /// The end of the ringing of a call, if it is not over.
    let ringsUntil: Timestamp?
  }

  /// - Parameters:
  ///   - job: The job of the notification.
  ///   - shown: The job whose message the notification shows.
  private func facts(of job: String, showing shown: String, _ shared: inout Shared) throws -> EntryFacts? {
    let row = try db.first(
      """
      SELECT users.name AS user_name, job.device, job.room AS room_id, rooms.name AS room, job.steps,
        job.expires - job.steps AS ends,
        (SELECT \(Self.entryState) FROM jobs WHERE id = ?1) AS entry_state, members.read, members.received,
        calls.state AS call_state, calls.ring_until, party.state AS party_state, party.device AS party_device,
        \(Schema.knownName("collapsed.name")) AS collapse_room, coalesce(head.collapse_seq, head.seq) AS collapse_seq,
        replaced.push_collapse AS collapse_scope,
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
      LEFT JOIN messages AS replaced ON replaced.room = collapsed.id
        AND replaced.seq = coalesce(head.collapse_seq, head.seq)
      WHERE job.id = ?2
      """,
      [job, shown])
    guard let row else { return nil }
    let (room, user) = (RoomID(unchecked: row["room"]), UserID(unchecked: row["user_name"]))
    let message = try MessageHead(row)
    guard let recipient = try shared.recipient(named: user),
      let device = recipient.devices.first(where: { $0.id.rawValue == row["device"] })
    else { return nil }
    let call = try CallFacts(row, kind: message.traits.push.kind, expires: row.time("ends").map(transaction.wallTime))
    var traits = message.traits
    // The rule `deleted` must not match: `PhonePlanner` handles deletions after the other rules.
    traits.isDeleted = false
    let read: Int64? = row["read"]
    let time = transaction.clock.wallTime(message.time, steps: .milliseconds(row["steps"] as Int64))
    let membership =
      try room.isNotifications && !isEnded(message, of: user)
      ? Membership.absent
      : Membership(read.map { Marks(read: $0, received: row["received"]) }, nil, at: message.seq, shown: time)
    var facts = shared.deliveryCase(
      of: PlanMessage(traits, in: room, at: time), for: user, recipient, membership, on: device)
    // The rule `expired` must not match when the ringing ends, because the notification of the call stays.
    if call.isCall { facts.message.expires = time + PushRequest.maxLifetime }
    let collapseRoom: String? = row["collapse_room"]
    let entry = PhoneEntry(
      state: try row.choice("entry_state"), isReplaced: row["is_replaced"] ?? false,
      isDeleted: message.traits.isDeleted, callEnd: call.end(on: device.id, now: shared.now),
      rings: call.isCall && facts.device?.hasVoIPToken == true, later: laterPush(facts))
    return EntryFacts(
      entry: entry, room: row["room_id"],
      collapse: MessageReference(room: collapseRoom.map(RoomID.init(unchecked:)) ?? room, seq: row["collapse_seq"]),
      collapseScope: try row.choiceIfAny("collapse_scope") ?? .message,
      ringsUntil: entry.callEnd == nil ? call.ringsUntil : nil)
  }

  /// True if the message is the push of an invitation that has ended. The user then counts as no member, so that the
  /// phone removes the notification.
  private func isEnded(_ message: MessageHead, of user: UserID) throws -> Bool {
    guard message.traits.push.kind == .invitation else { return false }
    return try !db.has("SELECT 1 FROM invitations WHERE user = ? AND push = ?", [user.rawValue, message.seq])
  }

  // MARK: One device

  private func phoneStep(for update: DueUpdate, on device: Device, _ shared: inout Shared) throws -> Step {
    // A push that is on its way may set another badge, or bring a notification that must go.
    if try isPushing(Self.changesPhone, to: device, shared) { return .follow }
    let state = PhoneState(
      platform: device.platform, allowsAlerts: device.allowsAlerts, badge: update.badge,
      wantedBadge: try shared.badge(of: update.user, on: device),
      hasRemovals: try hasDueRemovals(of: device.id.rawValue, ofRow: update.user), badged: update.badged,
      woken: update.woken)
    let (push, next) = PhonePlanner.plan(state, now: shared.now)
    guard let push else { return next.map { .wait(until: $0, isSilenced: false) } ?? .drop }
    var claim = update.claim(.phone(push), on: device)
    if push.removes { claim.removals = try openRemovals(of: device.id.rawValue, ofRow: update.user) }
    claim.keptUntil = PhonePlanner.keptUntil(
      newest: update.alertKept,
      isNewest: try newestAlert(of: update).map(claim.removals.covers) ?? false,
      end: shared.now + Self.removalAge, on: device.platform)
    return .send(claim)
  }

  /// The note of an update that waits for the end of a push.
  private static let followsPush = "follows a push"
  /// The time after which an update waits no longer for a push whose end was lost.
  static let patience = Duration.seconds(60)

  /// A push to a device has ended. Makes the updates due that wait for it, those of all accounts of the phone.
  func arrived(at device: String, ofRow user: Int64) throws {
    try db.run(
      """
      UPDATE jobs SET due = ?1, note = NULL
      WHERE \(Schema.updates) AND \(Schema.open) AND note = '\(Self.followsPush)' AND (user, device) IN (
        SELECT account.user, account.device FROM devices
        JOIN devices AS account ON account.token = devices.token AND account.platform = devices.platform
        WHERE devices.user = ?2 AND devices.device = ?3)
      """,
      [now.rawValue, user, device])
    if db.changesCount > 0 { cache.updates.notify() }
  }

  /// Pushes that may show a notification or wake the app.
  private static let changesPhone = "kind <> 'phone'"

  /// True if a push for which the condition holds is on its way to a phone.
  private func isPushing(_ condition: String, to device: Device, _ shared: Shared) throws -> Bool {
    try shared.accounts(on: device).contains { account in
      try db.has(
        "SELECT 1 FROM jobs WHERE user = ? AND device = ? AND state = 'sending' AND \(condition)",
        [account.user, account.device])
    }
  }

  /// The message by which the phone knows its newest alert. Is `nil` if this is an alert of another account.
  private func newestAlert(of update: DueUpdate) throws -> MessageReference? {
    try db.first(
      "SELECT \(Self.identity) FROM jobs WHERE id = ? AND user = ?", [update.alertJob, update.user],
      MessageReference.init(identity:))
  }

  // MARK: Results

  // The badge, the pauses and the newest alert are those of the phone, so they apply to all accounts on it.

  /// The push of a job is the newest alert on its phone.
  func alerted(_ job: String) throws {
    try db.run(
      """
      UPDATE devices SET badge = coalesce(jobs.badge, devices.badge), alert_job = jobs.id,
        alert_kept = jobs.expires - jobs.steps
      FROM jobs WHERE jobs.id = ? AND devices.token = jobs.token AND devices.platform = jobs.platform
      """,
      [job])
  }

  /// Stores what a phone shows after an update.
  private func note(_ claim: Claim) throws {
    func set(_ columns: String, _ values: StatementArguments) throws {
      try db.run(
        "UPDATE devices SET \(columns) WHERE token = ? AND platform = ?",
        values + [claim.device.token, claim.device.platform.rawValue])
    }
    switch claim.content {
    case .phone(let phone):
      if let badge = phone.badge { try set("badge = ?, badged = ?", [badge, transaction.steplessNow.rawValue]) }
      if phone.removes { try set("woken = ?", [transaction.steplessNow.rawValue]) }
    case .silent: try set("woken = ?", [transaction.steplessNow.rawValue])
    case .change(let text, let shown):
      if let badge = shown.badge { try set("badge = ?", [badge]) }
      // A missed call is a new notification.
      guard text == .missed, let kept = claim.keptUntil else { break }
      try set("alert_job = ?, alert_kept = ?", [shown.notification, (kept - transaction.steps).rawValue])
    case .alert: break  // `PushQueue` ends the first push of messages.
    }
  }

  /// Ends an update that was sent. Plans the update again if its message has changed meanwhile, or if a removal is due.
  public func finish(_ claim: Claim) throws {
    if case .alert = claim.content { preconditionFailure("`PushQueue` ends the push of a message") }
    try note(claim)
    try sent(claim.removals, to: claim.device.id, of: claim.recipient)
    guard case .change(let text, let shown) = claim.content else { return try finish(claim.id) }
    try replaced(shown.notification, by: text)
    // After an edit the call still rings, so that its end needs another update.
    try finish(claim.id, ringsOn: text == .current)
  }

  /// Ends an update without a result. A removal that is left is sent again after the pause between two wakes, because
  /// the phone has got no push from which the pause would count.
  public func finish(_ id: String) throws { try finish(id, removalsDue: now + PhonePlanner.wakePause) }

  private func finish(_ id: String, ringsOn: Bool = true, removalsDue: Timestamp? = nil) throws {
    let row = try db.first("SELECT number, is_again, user, device FROM jobs WHERE id = ? AND \(Schema.updates)", [id])
    guard let row else { return }
    try arrived(at: row["device"], ofRow: row["user"])
    let number: Int64 = row["number"]
    guard let due = try row["is_again"] ? now : nextDue(number, ringsOn, removalsDue ?? now) else {
      return try drop(number)
    }
    let event = JobEvent.repeated
    try db.run(
      "UPDATE jobs SET \(event.assignment), lease = NULL, is_again = 0, due = ? WHERE number = ? AND \(event.condition)",
      [due.rawValue, number])
  }

  /// The time at which an update is planned again: `removalsDue` if the device has removals that are due, and the end of
  /// the ringing for a call that rings on. Is `nil` if nothing is left.
  private func nextDue(_ number: Int64, _ ringsOn: Bool, _ removalsDue: Timestamp) throws -> Timestamp? {
    try db.first(
      """
      SELECT CASE kind
        WHEN 'phone' THEN (
          SELECT ?4 FROM removals
          WHERE removals.user = jobs.user AND removals.device = jobs.device AND \(Self.isRemovalDue) LIMIT 1)
        WHEN 'entry' THEN (
          SELECT job.expires - job.steps + ?5 FROM jobs AS job
          JOIN messages ON messages.room = job.room AND messages.seq = job.seq
            AND messages.push_kind = '\(MessageKind.call.rawValue)'
          WHERE ?3 AND job.id = jobs.target AND job.expires - job.steps + ?5 > ?2
            AND NOT \(CallReader.ringsNoMore)) END AS due
      FROM jobs WHERE number = ?1
      """,
      [number, now.rawValue, ringsOn, removalsDue.rawValue, transaction.steps.milliseconds])?.time("due")
  }

  private func drop(_ number: Int64) throws {
    try db.run("DELETE FROM jobs WHERE number = ?", [number])
  }

  /// Makes the updates due whose text a silence has held.
  public func endSilence(of user: UserID) throws {
    guard let id = try row(of: user) else { return }
    try db.run(
      "UPDATE jobs SET due = ?, is_late = 0 WHERE \(Schema.silenced) AND user = ? AND state <> 'sending'",
      [now.rawValue, id])
    cache.updates.notify()
  }

  /// Makes an update due again later.
  /// - Parameter wasTried: False if the gateway did not try, so that the attempt does not count.
  public func retry(_ id: String, due: Timestamp, note: String? = nil, wasTried: Bool = true) throws {
    let row = try db.first(
      """
      UPDATE jobs SET \(JobEvent.retried.assignment), lease = NULL, is_again = 0, due = ?, note = ?,
        attempts = max(0, attempts - ?)
      WHERE id = ? AND \(JobEvent.retried.condition) RETURNING user, device
      """,
      [due.rawValue, note, wasTried ? 0 : 1, id])
    if let row { try arrived(at: row["device"], ofRow: row["user"]) }
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
  /// The id of the job whose notification this update changes. Is `nil` for an update of a device.
  let job: String?
  let user: Int64
  let name: UserID
  let kind: UpdateKind
  let room, seq: Int64
  let attempts: Int
  let created: Timestamp
  let steps: Duration
  /// The device as it is registered now. Is `nil` when it is not registered.
  let device: Device?
  /// The badge that the phone shows. Is `nil` when it is unknown.
  let badge: Int?
  /// The times of the newest pushes that only set the badge, and that woke the app.
  let badged, woken: Timestamp?
  /// The job of the newest alert on the phone, and the time until which the service may keep it.
  let alertJob: String?
  let alertKept: Timestamp?

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
    steps = .milliseconds(row["steps"] as Int64)
    device = try Device(ifAny: row)
    badge = row["badge"]
    badged = row.time("badged")
    woken = row.time("woken")
    alertJob = row["alert_job"]
    alertKept = row.time("alert_kept")
  }

  func claim(_ content: Claim.Content, on device: Device, keptUntil: Timestamp? = nil) -> Claim {
    Claim(
      id: id, attempts: attempts, created: created, steps: steps, recipient: name, device: device, content: content,
      keptUntil: keptUntil)
  }
}
