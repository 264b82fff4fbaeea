// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

/// The decisions of the client, without a socket, a clock or a thread. Its input is an event with its time, and its
/// output is a list of actions. `Engine` supplies the events and performs the actions.
///
/// Times count from a start that `Engine` chooses. They never decrease.
package struct ClientMachine {
  struct Settings: Sendable {
    /// The relay, or all nodes of a cluster.
    var addresses: [RelayAddress]
    /// Members of `hello` that the app configures.
    var hello: [String: JSON] = [:]
    /// Timeout of a reply.
    var timeout = Duration.seconds(15)
    /// Capacity of the outbox, in messages of all rooms together.
    var outbox = 100
    /// 0 to 1, for the jitter.
    var random: @Sendable () -> Double = { .random(in: 0...1) }
    /// The wall-clock time, for Focus reports.
    var time: @Sendable () -> Timestamp = { Timestamp(rawValue: 0) }
    /// Makes a new idempotency key.
    var key: @Sendable () -> String
  }

  enum Link: Equatable {
    case closed
    /// The client waits for the app's identity or for the socket.
    case connecting(until: Duration)
    /// `hello` is sent, and the welcome is missing.
    case greeting(until: Duration)
    case open(since: Duration)
    case waiting(until: Duration)
    case refused
  }

  /// Timeout of an attempt, from its first step to the welcome.
  static let patience = Duration.seconds(15)
  /// Timeout of a socket to one of several addresses: a node without power refuses no connection.
  static let socketPatience = Duration.seconds(5)

  let settings: Settings
  private(set) var link = Link.closed
  private(set) var state = ConnectionState.closed
  /// The number of the current attempt to connect. `Engine` ignores events of earlier attempts.
  private(set) var attempt = 0
  private var book: AddressBook
  private var backoff = Backoff()
  /// The end of the current attempt, up to the welcome.
  private var attemptEnd = Duration.zero
  /// True if the current attempt has the app's identity, so that only the node can delay it.
  private var hasIdentity = false
  private var isExpired = false
  private var bye: Frame?
  /// The `error` that answered `hello`.
  private var refusal: StillwireError?
  private var silence: Silence?
  private var inbox = InboxPlace()
  var pageSize = PageSize()
  var renewal: Renewal?
  /// The user of the session, from the welcome.
  private(set) var user: UserID?
  /// The number of open invitations of the user, from the welcome.
  private(set) var invitationCount = 0
  /// Maximum size of a frame in bytes, from the welcome.
  private(set) var maxFrame = Limits().frame
  /// The names of the preferences that the relay knows, from the welcome. Is `nil` if the welcome does not list them.
  private(set) var preferences: Set<String>?
  var activity = Activity.active
  /// The activity that the relay knows.
  private var stated = Activity.active
  var requests: Requests
  var outbox: Outbox
  var focus = FocusDesk()
  var watches = Watches()
  private(set) var tracks: [RoomID: RoomTrack] = [:]
  /// The rooms, in the order of their first joins.
  private(set) var order: [RoomID] = []
  /// The rooms' priorities, except 0.
  var priorities: [RoomID: Int] = [:]
  /// The number of times that the app has used a room.
  var uses = 0
  /// The callers that wait for the first join of a room.
  var joiners: [Ticket: RoomID] = [:]
  private(set) var now = Duration.zero
  /// The relay's `clock` at the start of the client's clock, by the newest welcome. Is `nil` before a welcome has it.
  private var relayStart: Duration?
  private var actions: [Action] = []

  init(_ settings: Settings) {
    self.settings = settings
    book = AddressBook(settings.addresses)
    outbox = Outbox(capacity: settings.outbox)
    requests = Requests(timeout: settings.timeout)
  }

  var moment: Moment { Moment(own: now, relay: relayStart.map { $0 + now }) }

  var isOpen: Bool {
    if case .open = link { true } else { false }
  }

  var isConnecting: Bool {
    if case .connecting = link { true } else { false }
  }

  /// True from the beginning of an attempt to its welcome.
  private var isAttempting: Bool {
    switch link {
    case .connecting, .greeting: true
    case .closed, .open, .waiting, .refused: false
    }
  }

  /// Applies an event at a time, and returns the actions that follow from it.
  mutating func take(at time: Duration, _ input: (inout ClientMachine) -> Void) -> [Action] {
    now = max(now, time)
    input(&self)
    defer { actions = [] }
    return actions
  }

  mutating func act(_ action: Action) { actions.append(action) }

  mutating func emit(_ event: Event) { act(.emit(event)) }

  /// Emits an error of the client itself, as a frame of type `error`.
  mutating func emit(_ error: StillwireError) {
    let members: JSON = [
      "type": "error", "code": .string(error.code.name), "message": .string(error.message),
      "temporary": .bool(error.isTemporary),
    ]
    emit(.frame(Frame(members)))
  }

  mutating func write(_ type: String, _ members: [String: JSON], id: Int64? = nil) {
    act(.write(frame(type, members, id: id)))
  }

  func frame(_ type: String, _ members: [String: JSON], id: Int64? = nil) -> [UInt8] {
    JSONWriter.object {
      $0["type"] = type
      $0.integer("id", id)
      $0.members(members)
    }
  }

  mutating func finish(_ ticket: Ticket?, _ result: Result<JSON, StillwireError>) {
    if let ticket { act(.finish(ticket, result)) }
  }

  /// Changes the state of a room. Returns `nil` if the app is not in this room.
  @discardableResult
  mutating func change<Value>(_ room: RoomID, _ change: (inout RoomTrack) -> Value) -> Value? {
    guard var track = tracks.removeValue(forKey: room) else { return nil }
    defer { tracks[room] = track }
    return change(&track)
  }

  /// Adds a room of the app.
  mutating func begin(_ track: RoomTrack) {
    tracks[track.room] = track
    order.append(track.room)
  }

  /// Removes a room of the app.
  mutating func end(_ room: RoomID) {
    tracks[room] = nil
    priorities[room] = nil
    order.removeAll { $0 == room }
  }
}

// MARK: The connection

extension ClientMachine {
  /// Connects immediately, also while the client waits or was refused.
  package mutating func connectRequested() {
    switch link {
    case .closed, .waiting, .refused: open()
    case .connecting, .greeting, .open: break
    }
  }

  /// Finds out if the connection still works, or connects immediately while the client waits.
  mutating func wake() {
    switch link {
    case .waiting: open()
    case .open: if silence?.probe(at: now) == true { write("ping", [:]) }
    case .closed, .connecting, .greeting, .refused: break
    }
  }

  /// Closes the connection, and fails all that waits.
  package mutating func closeRequested() {
    guard link != .closed else { return }
    act(.close(code: 1000))
    // The delays after the next connect begin at the shortest.
    backoff.succeeded()
    connectionEnded()
    link = .closed
    become(.closed)
    failAll(.closed)
  }

  /// Notes that the app has supplied its identity, and that a socket is opened now.
  mutating func identityArrived() {
    hasIdentity = true
    guard case .connecting(let until) = link, book.areSeveral else { return }
    link = .connecting(until: min(until, now + Self.socketPatience))
  }

  /// Sends `hello` with the app's identity on the upgraded socket.
  mutating func opened(_ identity: Identity?) {
    guard case .connecting = link else { return }
    hasIdentity = true
    link = .greeting(until: attemptEnd)
    var hello = settings.hello
    identity?.write(to: &hello)
    hello["acks"] = .bool(true)
    hello["activity"] = .string(activity.rawValue)
    stated = activity
    hello["inbox"] = inbox.hello(settings.hello["inbox"])
    write("hello", hello)
  }

  /// Sends `refresh` with a newer token, if the session that needed it still exists.
  mutating func renewed(_ identity: Identity?, of attempt: Int) {
    guard isOpen, attempt == self.attempt, case .token(let token) = identity else { return }
    write("refresh", ["token": .string(token)], id: requests.begin(.renewal, at: now))
  }

  /// Schedules another request for a newer token.
  mutating func renewalFailed(_ error: StillwireError?, of attempt: Int) {
    guard isOpen, attempt == self.attempt else { return }
    reportBadToken(error)
    renewal?.failed(at: now, retryAfter: error?.retryAfter ?? .zero, random: settings.random())
  }

  /// Ends an attempt for which the app supplied no identity.
  mutating func identityFailed(_ error: StillwireError? = nil) {
    guard case .connecting = link else { return }
    reportBadToken(error)
    lost(code: nil, reason: "")
  }

  /// Emits an error if the app has supplied something else than a token. The app knows its own errors.
  private mutating func reportBadToken(_ error: StillwireError?) {
    if let error, error.code == .badToken { emit(error) }
  }

  /// Ends an attempt without a socket: no relay answered, or it refused the handshake.
  /// - Parameters:
  ///   - leader: The URL of the leader that a standby node named.
  ///   - isStandby: True if the answer is that of a standby node.
  mutating func attemptFailed(leader: String? = nil, isStandby: Bool = false) {
    guard case .connecting = link, !tryNext(leader: leader, isStandby: isStandby) else { return }
    lost(code: nil, reason: "")
  }

  /// Handles the end of the socket.
  mutating func socketClosed(code: UInt16?, reason: String) {
    switch link {
    case .connecting, .greeting:
      let last = byeCode ?? code ?? 1006
      let mayTryNext = bye?["reconnect"]?.flag != false && Refusal.mayTryNext(last)
      if !(mayTryNext && tryNext()) { lost(code: code, reason: reason) }
    case .open: lost(code: code, reason: reason)
    case .closed, .waiting, .refused: break
    }
  }

  /// Closes the connection after data that is not part of the protocol.
  mutating func nonsenseArrived() {
    act(.close(code: 3002))
    if !(isAttempting && tryNext()) { lost(code: nil, reason: "") }
  }

  /// Does all work that is due.
  mutating func timePassed() {
    switch link {
    case .connecting(let until), .greeting(let until):
      if until <= now { give() }
    case .waiting(let until):
      if until <= now { open() }
    case .open:
      switch silence?.timePassed(at: now, requests.waiting) {
      case .ping: write("ping", [:])
      case .giveUp: give()
      case nil: break
      }
    case .closed, .refused: break
    }
    expireRequests()
    guard isOpen else { return }
    if focus.timePassed(at: now) { sendFocus() }
    if renewal?.timePassed(at: now) == true { act(.renew(attempt: attempt)) }
    if watches.timePassed(at: now) { watchAgain() }
    roomsTimePassed()
  }

  /// The time of the next work for ``timePassed()``.
  var nextDue: Duration? {
    var dues: [Duration?] = [requests.nextDue]
    switch link {
    case .connecting(let until), .greeting(let until), .waiting(let until): dues.append(until)
    case .open:
      dues += [silence?.due(requests.waiting), renewal?.due, focus.retry.at, watches.retryAt, outbox.nextDue]
      dues += tracks.values.map(\.nextDue)
    case .closed, .refused: break
    }
    return dues.compactMap(\.self).min()
  }

  private mutating func open() {
    book.beginRound()
    become(.connecting)
    dial()
  }

  private mutating func dial() {
    attempt += 1
    bye = nil
    refusal = nil
    hasIdentity = false
    attemptEnd = now + Self.patience
    link = .connecting(until: attemptEnd)
    act(.open(attempt: attempt, book.address, isExpired: isExpired))
  }

  /// Ends an attempt, and begins the next one of the round. Returns false if all addresses were tried.
  private mutating func tryNext(leader: String? = nil, isStandby: Bool = false) -> Bool {
    guard book.selectNext(leader: leader, isStandby: isStandby, at: now) else { return false }
    dial()
    return true
  }

  /// Gives up a connection or an attempt whose peer did not respond in time, and waits for the next attempt.
  private mutating func give() {
    act(.drop)
    if hasIdentity { book.avoid(at: now) }
    if !(isAttempting && tryNext()) { lost(code: nil, reason: "") }
  }

  private mutating func lost(code: UInt16?, reason: String) {
    let isHandedOver = isOpen && byeCode == CloseCode.shutdown.rawValue
    if case .open(let since) = link, now - since >= Backoff.proof { backoff.succeeded() }
    connectionEnded()
    // `isExpired` stays set until a welcome shows that a newer token was accepted.
    if (byeCode ?? code) == CloseCode.tokenExpired.rawValue { isExpired = true }
    let isFinal = bye?["reconnect"]?.flag == false || Refusal.isFinal(code ?? 1006)
    guard !isFinal else {
      let words = self.refusal?.description ?? bye?["reason"]?.text ?? reason
      let refusal = Refusal(code: byeCode ?? code ?? 1006, reason: words)
      link = .refused
      become(.refused(refusal))
      failAll(.closed)
      return
    }
    let delay = delay(after: code, isHandedOver: isHandedOver)
    link = .waiting(until: now + delay)
    become(.waiting(delay))
  }

  /// Returns the delay of the next attempt.
  /// - Parameter isHandedOver: True if the relay has ended a session in order.
  private mutating func delay(after code: UInt16?, isHandedOver: Bool) -> Duration {
    let random = settings.random()
    let retryAfter = bye?.members.duration("retryAfter")
    let jitter = jitter(after: code)
    if isHandedOver, let delay = backoff.handedOver(random: random, retryAfter: retryAfter, jitter: jitter) {
      return delay
    }
    return backoff.failed(random: random, retryAfter: retryAfter ?? .zero, jitter: jitter)
  }

  /// The time within which the clients of the relay should reconnect after this end of a connection. `bye` states it. If
  /// it has a `retryAfter`, the relay has chosen the time of this client within it.
  private func jitter(after code: UInt16?) -> Duration {
    // A proxy that reloads closes all its connections with 1001, and without `bye`.
    guard let bye = bye?.members else { return code == 1001 ? .seconds(1) : .zero }
    return bye.duration("retryAfter") == nil ? bye.duration("jitter") ?? .zero : .zero
  }

  private var byeCode: UInt16? { (bye?["code"]?.integer).flatMap(UInt16.init(exactly:)) }

  private mutating func connectionEnded() {
    silence = nil
    renewal = nil
    watches.connectionLost()
    for purpose in requests.ended() {
      if case .app(let ticket, _) = purpose { finish(ticket, .failure(.closed)) }
    }
    outbox.connectionLost()
    pageSize = PageSize()
    for room in order { change(room) { $0.connectionLost() } }
  }

  /// Fails all sends, joins and reports that wait: the client does not reconnect by itself.
  private mutating func failAll(_ error: StillwireError) {
    for ticket in outbox.emptied() { finish(ticket, .failure(error)) }
    finish(focus.ended(), .failure(error))
    finishJoiners(.failure(error)) { _ in true }
  }

  private mutating func become(_ state: ConnectionState) {
    self.state = state
    emit(.stateChanged(state))
  }
}

// MARK: Frames

extension ClientMachine {
  /// Notes a part of a frame. On a slow line, a frame may take longer than the timeout of a silence.
  mutating func partArrived() {
    silence?.received(at: now)
    requests.received(at: now)
  }

  mutating func textArrived(_ text: [UInt8]) {
    guard let frame = Frame(reading: text) else { return nonsenseArrived() }
    silence?.received(at: now)
    // A pong goes before the replies that wait for a slow connection.
    if frame.type != "pong" { requests.received(at: now) }
    switch (frame.type, link) {
    case ("bye", _): bye = frame
    case ("welcome", .greeting): welcomed(frame)
    case ("welcome", _): break
    default:
      guard let id = frame.id else { return eventArrived(frame) }
      if let request = requests.answered(id) {
        let isError = frame.type == "error"
        answered(request, isError ? .failure(StillwireError(frame.members)) : .success(frame.members))
      } else if !requests.wasMade(id) {
        eventArrived(frame)
      }
    }
  }

  private mutating func welcomed(_ welcome: Frame) {
    link = .open(since: now)
    // A leader that fails soon after its welcome is a failure, except if another node leads since.
    if book.succeeded() { backoff.succeeded() }
    isExpired = false
    user = welcome.user
    invitationCount = Int(clamping: welcome["invitations"]?.integer ?? 0)
    if let clock = welcome["clock"]?.integer { relayStart = .milliseconds(clock) - now }
    let limits = welcome["limits"]
    maxFrame = (limits?["frame"]?.integer).flatMap(Int.init(exactly:)) ?? Limits().frame
    preferences = limits?["preferences"]?.items.map { Set($0.compactMap(\.text)) }
    silence = Silence(
      heartbeat: welcome.members.duration("heartbeat") ?? .seconds(Limits().heartbeat),
      pongTimeout: limits?.duration("pongTimeout") ?? .seconds(Limits().pongTimeout), areSeveral: book.areSeveral,
      at: now)
    renewal = Renewal(welcome, at: now)
    become(.open)
    if let reset = inbox.welcomed(welcome) { emit(.frame(reset)) }
    stateActivity()
    sendFocus()
    join(order)
    watches.welcomed()
    watchAgain()
  }

  /// Sends the activity to an open relay that knows another one: it may have changed since `hello`.
  mutating func stateActivity() {
    guard isOpen, activity != stated else { return }
    stated = activity
    write("activity", ["state": .string(activity.rawValue)])
  }

  private mutating func eventArrived(_ event: Frame) {
    guard isOpen || event.type == "error" else { return }
    if !isOpen { refusal = StillwireError(event.members) }
    switch event.type {
    case "message": messageArrived(event)
    case "page": pageArrived(event)
    case "presence", "member", "counts": peopleChanged(event)
    case _ where event.isChange: changeArrived(event)
    case "room":
      emit(.frame(event))
      if event["removed"]?.flag == true, let room = event.room { removed(from: room) }
    case "signal", "receipt":
      if let room = event.room, tracks[room] != nil { emit(.frame(event)) }
    case "inbox":
      inbox.received(event)
      emit(.frame(event))
    case "invitation":
      if let change = InvitationEvent(event.members) { emit(.invitation(change)) }
    case "call", "delivery", "response", "error": emit(.frame(event))
    default: break
    }
  }
}
