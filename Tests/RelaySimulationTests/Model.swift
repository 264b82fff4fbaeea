// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The expected state of the world. It follows from the acknowledged requests and from the frames that clients
/// received, and does not use the relay's code.
struct Model {
  /// A number that only rises, with the time of each rise.
  struct Rise {
    private var steps: [(time: Timestamp, seq: Int64)]

    init(_ seq: Int64, now: Timestamp) { steps = [(now, seq)] }

    var latest: Int64 { steps.last?.seq ?? 0 }

    func at(_ time: Timestamp) -> Int64 { steps.last { $0.time <= time }?.seq ?? 0 }

    mutating func raise(to seq: Int64, now: Timestamp) {
      if seq > latest { steps.append((now, seq)) }
    }
  }

  struct Member {
    var read: Rise
    /// The message up to which no push is needed any more.
    var mark: Rise

    init(read: Int64, received: Int64 = 0, now: Timestamp) {
      self.read = Rise(read, now: now)
      mark = Rise(max(read, received), now: now)
    }
  }

  /// A push that must reach a device, unless something makes it unnecessary.
  struct Debt: Hashable {
    let place: Place
    let target: Target
    /// True for a Notify Anyway.
    var isAnyway = false
  }

  struct Key: Hashable, Sendable {
    let room: RoomID
    let user: UserID
    let key: Int
  }

  struct First: Sendable {
    let seq: Int64
    let time: Timestamp
  }

  var logs: [RoomID: RoomLog] = [:]
  var members: [Membership: Member] = [:]
  /// The push options of each message.
  var pushOptions: [Place: PushOptions] = [:]
  var devices: [Target: Registration] = [:]
  /// The times of the last registrations.
  private var registered: [Target: Timestamp] = [:]
  var keys: [Key: First] = [:]
  var people: [UserID: PersonModel] = [:]
  /// The members, bans and calls, as they were on disk after the last step.
  var rooms: [RoomID: RoomModel] = [:]
  /// The edits, deletions, reactions and pins of each room.
  var changes: [RoomID: ChangeModel] = [:]
  /// The users that the reply to a `send` named as silenced, and the times at which they were notified.
  var silenced: [Place: Set<UserID>] = [:]
  var notified: [Place: [UserID: Timestamp]] = [:]
  /// The Focus of users during the present step, before they lost a device.
  private(set) var passed: [UserID: Set<Bool?>] = [:]
  var attendance: Attendance
  private(set) var debts: Set<Debt> = []

  /// The relay stores marks at most a second after the first change. Older changes must be stored.
  static let lateness = Duration.milliseconds(1_001)
  static let keyLifetime = Duration.seconds(300)
  init(start: Timestamp) { attendance = Attendance(start: start) }

  // MARK: Shown state

  mutating func see(_ message: RoomLog.Message, at place: Place) throws {
    try logs[place.room, default: RoomLog()].see(message, at: place)
  }

  /// Checks an event or a reply with the new text of a message.
  func seeEdit(_ body: Int, of place: Place) throws {
    guard log(of: place.room).bodies(place.seq).contains(body) else {
      throw Violation(.ordered, "\(place) is edited to \(body), which no user requested")
    }
  }

  mutating func see(epoch: String, of room: RoomID) throws {
    try logs[room, default: RoomLog()].see(epoch: epoch, of: room)
  }

  // MARK: Acknowledged state

  /// Records a stored message. Its pushes are owed to members with a device, if both existed before and after the step.
  mutating func acknowledge(
    _ message: RoomLog.Message, _ options: PushOptions, silenced: [UserID], at place: Place, before: Model,
    now: Timestamp
  ) throws {
    try see(message, at: place)
    pushOptions[place] = options
    self.silenced[place] = Set(silenced)
    let was = before.knowing(place, of: self)
    for (target, _) in devices where target.user != message.from && before.devices[target] != nil {
      let membership = Membership(room: place.room, user: target.user)
      guard members[membership] != nil, before.members[membership] != nil,
        !hasReached(place, target.user, isCall: options.isCall),
        !was.isRefused(Debt(place: place, target: target), at: now)
      else { continue }
      debts.insert(Debt(place: place, target: target))
    }
    read(Membership(room: place.room, user: message.from), upTo: place.seq, now: now)
  }

  /// True if the user has the message, so that no push is needed. A call rings until it is read.
  func hasReached(_ place: Place, _ user: UserID, isCall: Bool) -> Bool {
    guard let member = members[Membership(room: place.room, user: user)] else { return false }
    if isCall { return member.read.latest >= place.seq || !mayRing(place, for: user) }
    return member.mark.latest >= place.seq || attendance.isActivelyReceived(place, by: user)
  }

  /// Records a Notify Anyway for these users, for devices that existed before and after the step.
  mutating func notify(_ users: [UserID], of place: Place, before: Model, now: Timestamp) {
    let isCall = pushOptions[place]?.isCall ?? false
    let was = before.knowing(place, of: self)
    for user in users {
      notified[place, default: [:]][user] = now
      guard !hasReached(place, user, isCall: isCall) else { continue }
      for target in World.devices.map({ Target(user: user, device: $0) })
      where devices[target] != nil && before.devices[target] != nil {
        let debt = Debt(place: place, target: target, isAnyway: true)
        if !was.isRefused(debt, at: now) { debts.insert(debt) }
      }
    }
  }

  func isNotified(_ place: Place, _ user: UserID) -> Bool { notified[place]?[user] != nil }

  /// Removes pushes that are not owed any more.
  mutating func forgive(now: Timestamp) {
    guard !debts.isEmpty else { return }
    let model = self
    clear { model.isRefused($0, at: now) }
  }

  /// True if a rule forbids the push.
  func isRefused(_ debt: Debt, at now: Timestamp) -> Bool {
    if case .some(.none) = expectedDecision(on: debt.place, to: debt.target, isAnyway: debt.isAnyway, at: now) {
      true
    } else {
      false
    }
  }

  mutating func read(_ membership: Membership, upTo seq: Int64, now: Timestamp) {
    members[membership]?.read.raise(to: seq, now: now)
    reach(membership, upTo: seq, now: now)
    clear { $0.place.room == membership.room && $0.target.user == membership.user && $0.place.seq <= seq }
  }

  /// A session has received messages up to this seq.
  mutating func received(_ slot: Slot, _ room: RoomID, upTo seq: Int64, now: Timestamp) {
    attendance.received(slot, room, upTo: seq)
    attend(slot, room, now: now)
  }

  /// A session becomes active, or changes to another activity.
  mutating func setActivity(_ activity: Activity, of slot: Slot, now: Timestamp) {
    attendance.setActivity(activity, of: slot, now: now)
    for room in World.rooms { attend(slot, room, now: now) }
  }

  /// Settles the messages that an active session has received.
  private mutating func attend(_ slot: Slot, _ room: RoomID, now: Timestamp) {
    guard let session = attendance.sessions[slot], session.activity == .active, let seat = session.seats[room] else {
      return
    }
    let membership = Membership(room: room, user: slot.user)
    let mark = members[membership]?.mark.latest ?? 0
    if session.acks || seat.givenFrom <= mark + 1 {
      reach(membership, upTo: seat.received, now: now)
    } else {
      // One mark cannot express a gap, so a restart may push this message.
      let pushOptions = pushOptions
      clear {
        $0.place.room == room && $0.target.user == slot.user && session.hasReceived($0.place)
          && pushOptions[$0.place]?.isCall != true
      }
    }
  }

  mutating func reach(_ membership: Membership, upTo seq: Int64, now: Timestamp) {
    guard let mark = members[membership]?.mark.latest, seq > mark else { return }
    members[membership]?.mark.raise(to: seq, now: now)
    let pushOptions = pushOptions
    // Messages above the mark that other sessions have received may count now.
    for slot in World.slots where slot.user == membership.user { attend(slot, membership.room, now: now) }
    clear {
      $0.place.room == membership.room && $0.target.user == membership.user && $0.place.seq <= seq
        && pushOptions[$0.place]?.isCall != true
    }
  }

  mutating func leave(_ membership: Membership) {
    members[membership] = nil
    clear { $0.place.room == membership.room && $0.target.user == membership.user }
  }

  /// Removes the pushes of calls that do not ring for their recipients any more.
  mutating func forgiveCalls() {
    guard !debts.isEmpty else { return }
    let model = self
    clear { !model.mayRing($0.place, for: $0.target.user) }
  }

  mutating func register(_ target: Target, _ registration: Registration, now: Timestamp) {
    for (other, known) in devices
    where other != target && other.user == target.user && known.token == registration.token { forget(other) }
    devices[target] = registration
    registered[target] = now
    people[target.user, default: PersonModel()].register(target.device)
    let accounts = accounts(beside: target)
    for account in accounts {
      devices[account]?.allowsAlerts = registration.allowsAlerts
      devices[account]?.allowsTimeSensitive = registration.allowsTimeSensitive
    }
    let others = accounts.map { (people[$0.user], $0.device) }
    people[target.user]?.inherit(
      others.compactMap { $0?.focus[$1] }, others.compactMap { $0?.filters[$1] }, as: target.device)
  }

  /// The accounts of the same phone: the devices of other users with the same token, those that registered longest ago
  /// first.
  func accounts(beside target: Target) -> [Target] {
    guard let token = devices[target]?.token else { return [] }
    let others = devices.filter { $0.key.user != target.user && $0.value.token == token }.keys
    return others.sorted {
      (registered[$0]?.rawValue ?? 0, $0.user.rawValue) < (registered[$1]?.rawValue ?? 0, $1.user.rawValue)
    }
  }

  /// Applies a report to the other accounts of the phone.
  mutating func share(_ target: Target, now: Timestamp, _ report: (inout PersonModel, DeviceID) -> Void) {
    for account in accounts(beside: target) {
      var person = people[account.user] ?? PersonModel()
      passed[account.user, default: []].insert(person.isFocused(at: now))
      report(&person, account.device)
      passed[account.user, default: []].insert(person.isFocused(at: now))
      people[account.user] = person
    }
  }

  mutating func forget(_ target: Target) {
    devices[target] = nil
    registered[target] = nil
    people[target.user]?.forget(target.device)
    clear { $0.target == target }
  }

  /// Deletes a device whose token the gateway has refused in the present step.
  /// - Parameter found: The reports on disk that devices sent in this step. The device may have sent them after the
  ///   loss.
  mutating func lose(_ target: Target, keeping found: Disk.Reports, now: Timestamp) {
    guard let person = people[target.user] else { return forget(target) }
    passed[target.user, default: []].insert(person.isFocused(at: now))
    forget(target)
    if found.focus.contains(target) { people[target.user]?.focus[target.device] = person.focus[target.device] }
    if found.filters.contains(target) { people[target.user]?.filters[target.device] = person.filters[target.device] }
  }

  mutating func pushed(_ debt: Debt) { debts.remove(debt) }

  /// Ends a step: all requests have replies.
  mutating func settle() {
    for room in World.rooms { logs[room]?.settle() }
    passed = [:]
  }

  private mutating func clear(_ isSettled: (Debt) -> Bool) { debts = debts.filter { !isSettled($0) } }

  // MARK: Derived facts

  func log(of room: RoomID) -> RoomLog { logs[room] ?? RoomLog() }

  /// The tokens of the phones that a request of a user changes or reports about.
  func phones(of request: ClientRequest, by user: UserID) -> Set<Int> {
    var tokens: Set<Int> = []
    if case .register(_, let registration) = request { tokens.insert(registration.token) }
    if let device = request.device, let known = devices[Target(user: user, device: device)] {
      tokens.insert(known.token)
    }
    return tokens
  }

  func newestNumber(of request: ClientRequest, _ user: UserID) -> Int64 {
    switch request {
    case .focus(let device, _, _, _): people[user]?.focus[device]?.lastReport.number ?? 0
    case .filter(let device, _, _): people[user]?.filters[device]?.number ?? 0
    default: 0
    }
  }

  /// This model, with another model's knowledge of a message.
  func knowing(_ place: Place, of other: Model) -> Model {
    guard message(at: place) == nil, let message = other.message(at: place) else { return self }
    var model = self
    try? model.see(message, at: place)
    model.pushOptions[place] = other.pushOptions[place]
    return model
  }

  /// This model, with the members of another model.
  func with(membersOf other: Model) -> Model {
    var model = self
    model.members = other.members
    return model
  }

  func members(of room: RoomID) -> Set<UserID> { Set(World.users.filter { isMember($0, of: room) }) }

  func message(at place: Place) -> RoomLog.Message? { logs[place.room]?[place.seq] }
}
