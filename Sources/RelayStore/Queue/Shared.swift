// SPDX-License-Identifier: Apache-2.0
import GRDB
package import RelayDelivery
import RelayProtocol

/// Values that many claims of one call share.
struct Shared {
  let db: Database
  let now: Timestamp
  /// The sum of the steps of the wall clock.
  private let steps: Duration
  private let apps: AppEntitlements
  private var clock: QuietClock
  private var members: [Int64: Int] = [:]
  private var owners: [Int64: BadgeOwner] = [:]
  private var badges: [Account: Int] = [:]
  private var pushes: [Message: PushRequest] = [:]
  private var recipients: [UserID: Recipient?] = [:]

  /// The facts about a user that a badge depends on.
  private struct BadgeOwner {
    let preferences: Preferences
    /// The criteria that the active filter of each device passes.
    let filters: [String: [String]]
    let blocked: String?
  }

  private struct Message: Hashable {
    let room, seq: Int64
  }

  /// A user of a phone.
  struct Account: Hashable {
    let user: Int64
    let device: String
    /// The label of the account on the device.
    let criteria: String?
  }

  init(
    _ transaction: Transaction, now: Timestamp, apps: AppEntitlements = AppEntitlements(),
    zones: TimeZones = TimeZones()
  ) {
    clock = QuietClock(zones)
    db = transaction.db
    steps = transaction.steps
    self.now = now
    self.apps = apps
  }

  mutating func members(of room: Int64) throws -> Int {
    if let known = members[room] { return known }
    let counted: Int? = try db.first("SELECT members FROM activity WHERE room = ?", [room]) { $0[0] }
    // The room of a user's notifications has no row in `activity`.
    let count = try counted ?? db.first("SELECT count(*) FROM members WHERE room = ?", [room]) { $0[0] } ?? 0
    members[room] = count
    return count
  }

  /// The requested push of a message. It is parsed once for all recipients.
  /// - Parameter row: Has the columns `room` and `message_seq`, and those of ``PushRequest``.
  mutating func push(_ row: Row) throws -> PushRequest {
    let message = Message(room: row["room"], seq: row["message_seq"])
    if let known = pushes[message] { return known }
    let push = try PushRequest(row)
    pushes[message] = push
    return push
  }

  mutating func preferences(of user: Int64) throws -> Preferences { try owner(user).preferences }

  // MARK: Badges

  /// The accounts on the phone of a device: the devices with the same token.
  func accounts(on device: Device) throws -> [Account] {
    try db.all(
      "SELECT user, device, criteria FROM devices WHERE token = ? AND platform = ?",
      [device.token, device.platform.rawValue]
    ) { Account(user: $0["user"], device: $0["device"], criteria: $0["criteria"]) }
  }

  /// The number of unread messages that the phone of a device shows: the sum of its accounts.
  mutating func badge(of user: Int64, on device: Device) throws -> Int {
    var sum = 0
    for account in try accounts(on: device) { sum += try badge(of: account) }
    return sum
  }

  private mutating func badge(of account: Account) throws -> Int {
    if let known = badges[account] { return known }
    let owner = try owner(account.user)
    let count = try MessageReader(db: db).badge(
      of: account.user, owner.preferences, blocked: owner.blocked, filter: owner.filters[account.device],
      account: account.criteria, now: now)
    badges[account] = count
    return count
  }

  private mutating func owner(_ user: Int64) throws -> BadgeOwner {
    if let known = owners[user] { return known }
    let found = try db.first(Self.owner, [user]) { row in
      (preferences: try row.preferences(), hasFilters: row["has_filters"] as Bool, hasBlocks: row["has_blocks"] as Bool)
    }
    var filters: [String: [String]] = [:]
    if found?.hasFilters == true {
      let active = try db.all(
        "SELECT device, allow FROM filters WHERE user = ? AND is_active AND at - steps > ? AND received - steps > ?",
        [user, (now - steps - FilterRecord.lifetime).rawValue, (now - steps - FilterRecord.silence).rawValue])
      for row in active { filters[row["device"]] = try row.json("allow", "a filter's criteria") ?? [] }
    }
    let owner = BadgeOwner(
      preferences: found?.preferences ?? Preferences(), filters: filters,
      blocked: found?.hasBlocks == true ? try MessageReader(db: db).blocked(by: user) : nil)
    owners[user] = owner
    return owner
  }

  /// The preferences of a user, and the tables that have rows of the user.
  private static let owner = """
    SELECT preferences, EXISTS (SELECT 1 FROM filters WHERE user = users.id) AS has_filters,
      EXISTS (SELECT 1 FROM blocks WHERE user = users.id) AS has_blocks
    FROM users WHERE id = ?
    """

  // MARK: Decisions

  /// A user with all facts that decisions look at. Is `nil` when the user has no row.
  mutating func recipient(named user: UserID) throws -> Recipient? {
    if let known = recipients[user] { return known }
    let people = PeopleReader(db: db)
    var recipient = try people.user(user).map { Recipient($0, now: Moment(now: now, steps: steps)) }
    recipient?.suspension = try people.access(of: user).suspension
    recipients[user] = .some(recipient)
    return recipient
  }

  /// The input of a decision about a message that was sent before.
  mutating func deliveryCase(
    of message: PlanMessage, for user: UserID, _ recipient: Recipient, _ membership: Membership, on device: Device
  ) -> DeliveryCase {
    let facts = recipient.facts(user, of: message.traits, in: message.room, as: membership, now: now)
    let quietHours = clock.hours(of: recipient, at: now)
    return DeliveryCase(
      message: message.facts, recipient: facts,
      device: recipient.facts(of: device, in: apps, quietHours: quietHours), now: now)
  }
}

extension Recipient {
  /// Makes the recipient of a stored user, and applies the changes by time since then.
  package init(_ record: UserRecord, now: Moment) {
    self.init()
    focus = FocusLedger(record.focus)
    filters = FilterLedger(record.filters)
    devices = record.devices
    preferences = record.preferences
    blocked = record.blocks
    withdrawn = record.withdrawn
    status = record.status
    advance(to: now)
  }
}
