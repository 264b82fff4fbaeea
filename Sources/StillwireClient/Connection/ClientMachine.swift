// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

/// What the client decides, without a socket, a clock or a thread: what has happened goes in, with its time, and what is
/// to be done comes out.
///
/// Times are since a moment of the edge's choice; they never go back.
package struct ClientMachine {
  struct Settings: Sendable {
    /// The app's own members of `hello`.
    var hello: [String: JSON] = [:]
    /// How long a reply may take.
    var timeout = Duration.seconds(15)
    /// How many messages may wait to be sent, in all rooms together.
    var outbox = 100
    /// 0 to 1, for the jitter.
    var random: @Sendable () -> Double = { .random(in: 0...1) }
    /// The time of day, for reports of a Focus.
    var time: @Sendable () -> Timestamp = { Timestamp(rawValue: 0) }
    /// A new idempotency key.
    var key: @Sendable () -> String
  }

  enum Link: Equatable {
    case closed
    /// The app's identity is asked for, or the socket is being opened.
    case connecting(until: Duration)
    /// `hello` is said.
    case greeting(until: Duration)
    case open(since: Duration)
    case waiting(until: Duration)
    case refused
  }

  /// From the first step of an attempt to its welcome.
  static let patience = Duration.seconds(15)

  let settings: Settings
  private(set) var link = Link.closed
  private(set) var state = ConnectionState.closed
  /// Counts the sockets, so that nothing of an earlier one is heard.
  private(set) var attempt = 0
  private var backoff = Backoff()
  private var isExpired = false
  private var bye: Frame?
  /// The `error` that answered `hello`.
  private var refusal: StillwireError?
  private var silence: Silence?
  var renewal: Renewal?
  /// Whom the relay takes this client for.
  private(set) var user: UserID?
  /// Bytes of a frame at most, as the relay says.
  private(set) var largestFrame = Limits().frame
  var activity = Activity.active
  var requests = Requests()
  var outbox: Outbox
  var focus = FocusDesk()
  private(set) var tracks: [RoomID: RoomTrack] = [:]
  /// In the order of their first joins.
  private(set) var order: [RoomID] = []
  /// Who waits until a room is joined.
  var joiners: [Ticket: RoomID] = [:]
  private(set) var now = Duration.zero
  private var actions: [Action] = []

  init(_ settings: Settings) {
    self.settings = settings
    outbox = Outbox(most: settings.outbox)
  }

  var isOpen: Bool {
    if case .open = link { true } else { false }
  }

  var isConnecting: Bool {
    if case .connecting = link { true } else { false }
  }

  /// Takes in what happened at a time, and gives out what is to be done.
  mutating func take(at time: Duration, _ input: (inout ClientMachine) -> Void) -> [Action] {
    now = max(now, time)
    input(&self)
    defer { actions = [] }
    return actions
  }

  mutating func act(_ action: Action) { actions.append(action) }

  mutating func tell(_ event: Event) { act(.tell(event)) }

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

  /// nil: the app is not in this room.
  @discardableResult
  mutating func change<Value>(_ room: RoomID, _ change: (inout RoomTrack) -> Value) -> Value? {
    guard var track = tracks.removeValue(forKey: room) else { return nil }
    defer { tracks[room] = track }
    return change(&track)
  }

  mutating func begin(_ track: RoomTrack) {
    tracks[track.room] = track
    order.append(track.room)
  }

  mutating func end(_ room: RoomID) {
    tracks[room] = nil
    order.removeAll { $0 == room }
  }
}

// MARK: The connection

extension ClientMachine {
  /// The app wants to be connected, at once.
  package mutating func connectAsked() {
    switch link {
    case .closed, .waiting, .refused: open()
    case .connecting, .greeting, .open: break
    }
  }

  /// The app wants to be connected no longer.
  package mutating func closeAsked() {
    guard link != .closed else { return }
    act(.close(code: 1000))
    backoff.succeeded()
    connectionEnded()
    link = .closed
    become(.closed)
    failAll(.closed)
  }

  /// The socket is upgraded, and this is who the app acts for.
  mutating func opened(_ identity: Identity?) {
    guard case .connecting(let until) = link else { return }
    link = .greeting(until: until)
    var hello = settings.hello
    identity?.write(to: &hello)
    hello["acks"] = .bool(true)
    hello["activity"] = .string(activity.rawValue)
    write("hello", hello)
  }

  /// The app's newer token, which was asked for in a session of this attempt's.
  mutating func renewed(_ identity: Identity?, of attempt: Int) {
    guard isOpen, attempt == self.attempt, case .token(let token) = identity else { return }
    write("refresh", ["token": .string(token)], id: requests.begin(.renewal, due: now + settings.timeout))
  }

  /// There will be no socket of this attempt: the app has no identity, or nobody answers as a relay does.
  mutating func attemptFailed() {
    guard case .connecting = link else { return }
    lost(code: nil, reason: "")
  }

  /// The socket is gone.
  mutating func socketClosed(code: UInt16?, reason: String) {
    switch link {
    case .connecting, .greeting, .open: lost(code: code, reason: reason)
    case .closed, .waiting, .refused: break
    }
  }

  /// Something came that no relay says.
  mutating func nonsenseArrived() {
    act(.close(code: 3002))
    lost(code: nil, reason: "")
  }

  /// Time has passed.
  mutating func timePassed() {
    switch link {
    case .connecting(let until), .greeting(let until):
      if until <= now { give() }
    case .waiting(let until):
      if until <= now { open() }
    case .open:
      switch silence?.timePassed(at: now) {
      case .ping: write("ping", [:])
      case .giveUp: give()
      case nil: break
      }
    case .closed, .refused: break
    }
    expireRequests()
    guard isOpen else { return }
    if focus.timePassed(at: now) { tellFocus() }
    if renewal?.timePassed(at: now) == true { act(.renew(attempt: attempt)) }
    roomsTimePassed()
  }

  /// When ``timePassed()`` has something to do.
  var nextDue: Duration? {
    var dues: [Duration?] = [requests.nextDue]
    switch link {
    case .connecting(let until), .greeting(let until), .waiting(let until): dues.append(until)
    case .open: dues += [silence?.due, renewal?.due, focus.retryAt, outbox.nextDue] + tracks.values.map(\.nextDue)
    case .closed, .refused: break
    }
    return dues.compactMap(\.self).min()
  }

  private mutating func open() {
    attempt += 1
    bye = nil
    refusal = nil
    link = .connecting(until: now + Self.patience)
    become(.connecting)
    act(.open(attempt: attempt, isExpired: isExpired))
  }

  /// Nobody is there to say goodbye to.
  private mutating func give() {
    act(.drop)
    lost(code: nil, reason: "")
  }

  private mutating func lost(code: UInt16?, reason: String) {
    if case .open(let since) = link, now - since >= Backoff.proof { backoff.succeeded() }
    connectionEnded()
    let told = (bye?["code"]?.integer).flatMap(UInt16.init(exactly:))
    // Until a welcome says that another was taken.
    if (told ?? code) == CloseCode.tokenExpired.rawValue { isExpired = true }
    let isFinal = bye?["reconnect"]?.flag == false || Refusal.isFinal(code ?? 1006)
    guard !isFinal else {
      let words = self.refusal?.description ?? bye?["reason"]?.text ?? reason
      let refusal = Refusal(code: told ?? code ?? 1006, reason: words)
      link = .refused
      become(.refused(refusal))
      failAll(.closed)
      return
    }
    let delay = backoff.failed(
      random: settings.random(), retryAfter: bye?.members.duration("retryAfter") ?? .zero)
    link = .waiting(until: now + delay)
    become(.waiting(delay))
  }

  private mutating func connectionEnded() {
    silence = nil
    renewal = nil
    for purpose in requests.ended() {
      if case .app(let ticket) = purpose { finish(ticket, .failure(.closed)) }
    }
    outbox.connectionLost()
    for room in order { change(room) { $0.connectionLost() } }
  }

  /// Nothing is sent until the app says so.
  private mutating func failAll(_ error: StillwireError) {
    for ticket in outbox.emptied() { finish(ticket, .failure(error)) }
    finish(focus.ended(), .failure(error))
    finishJoiners(.failure(error)) { _ in true }
  }

  private mutating func become(_ state: ConnectionState) {
    self.state = state
    tell(.stateChanged(state))
  }
}

// MARK: Frames

extension ClientMachine {
  mutating func textArrived(_ text: [UInt8]) {
    guard let frame = Frame(reading: text) else { return nonsenseArrived() }
    silence?.heard(at: now)
    switch (frame.type, link) {
    case ("bye", _): bye = frame
    case ("welcome", .greeting): welcomed(frame)
    case ("welcome", _): break
    default:
      guard let id = frame.id else { return eventArrived(frame) }
      if let purpose = requests.answered(id) {
        let isError = frame.type == "error"
        answered(purpose, isError ? .failure(StillwireError(frame.members)) : .success(frame.members))
      } else if !requests.wasMade(id) {
        eventArrived(frame)
      }
    }
  }

  private mutating func welcomed(_ welcome: Frame) {
    link = .open(since: now)
    isExpired = false
    user = welcome.user
    let limits = welcome["limits"]
    largestFrame = (limits?["frame"]?.integer).flatMap(Int.init(exactly:)) ?? Limits().frame
    silence = Silence(
      heartbeat: welcome.members.duration("heartbeat") ?? .seconds(Limits().heartbeat),
      patience: limits?.duration("pongTimeout") ?? .seconds(Limits().pongTimeout), at: now)
    renewal = Renewal(welcome, at: now)
    become(.open)
    tellFocus()
    for room in order { join(room) }
  }

  private mutating func eventArrived(_ event: Frame) {
    guard isOpen || event.type == "error" else { return }
    if !isOpen { refusal = StillwireError(event.members) }
    switch event.type {
    case "message": messageArrived(event)
    case "presence", "member", "counts": peopleChanged(event)
    case "edited", "deleted": changeArrived(event)
    case "room":
      tell(.frame(event))
      if event["removed"]?.flag == true, let room = event.room { removed(from: room) }
    case "signal", "receipt":
      if let room = event.room, tracks[room] != nil { tell(.frame(event)) }
    case "delivery", "response", "error": tell(.frame(event))
    default: break
    }
  }
}
