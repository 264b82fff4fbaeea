// SPDX-License-Identifier: Apache-2.0
public import RelayJSON
import RelayProtocol
import Synchronization

/// A client of a relay: one connection at a time, which comes back by itself for as long as ``run()`` runs.
///
/// All of it may be called from any task. What a cancelled task has asked for is taken off: a message that was not sent
/// yet is not sent.
public final class Stillwire: Sendable {
  package let engine: Engine
  private let listeners: Listeners
  private let run = Mutex<AsyncStream<Never>.Continuation?>(nil)

  public convenience init(_ configuration: Configuration) {
    func timekeeper(_ clock: some Clock<Duration>) -> any Timekeeper { ClockTimekeeper(clock) }
    self.init(configuration, hello: [:], time: timekeeper(configuration.clock))
  }

  /// - Parameters:
  ///   - hello: What the first frame says beside what the configuration and the client do.
  ///   - hasIdentity: Whether the configuration's is asked for; else `hello` says it.
  ///   - observe: Told of each event as it happens, on the client's own thread.
  package init(
    _ configuration: Configuration, hello: [String: JSON], hasIdentity: Bool = true, time: any Timekeeper,
    observe: @escaping @Sendable (Event) -> Void = { _ in }
  ) {
    var hello = hello
    hello["client"] = ["name": "stillwire-swift", "version": .string(stillwireVersion)]
    if let device = configuration.device { hello["device"] = .string(device.rawValue) }
    if let app = configuration.app { hello["app"] = .string(app) }
    let listeners = Listeners()
    self.listeners = listeners
    engine = Engine(
      connector: WebSocketConnector(address: configuration.address, largestMessage: configuration.largestMessage),
      settings: ClientMachine.Settings(
        hello: hello, timeout: configuration.timeout, outbox: configuration.outbox, random: configuration.random,
        time: { .wall }, key: Self.newKey),
      time: time, identity: hasIdentity ? configuration.identity : nil
    ) { event in
      listeners.tell(event)
      observe(event)
    }
  }

  /// 128 random bits.
  @Sendable private static func newKey() -> String {
    var generator = SystemRandomNumberGenerator()
    return "\(String(generator.next(), radix: 36))-\(String(generator.next(), radix: 36))"
  }

  /// Connects, and comes back whenever the connection is lost, until the task is cancelled or ``close()`` is called.
  /// Then it says goodbye, which the relay takes as leaving at once, and has closed the socket when it returns.
  ///
  /// While the relay refuses (``ConnectionState/refused(_:)``) it goes on, and waits for ``connect()``.
  public func run() async {
    let (ended, end) = AsyncStream.makeStream(of: Never.self)
    run.withLock {
      precondition($0 == nil, "a client runs once at a time")
      $0 = end
    }
    await engine.take { $0.connectAsked() }
    for await _ in ended {}
    await engine.shutDown()
    run.withLock { $0 = nil }
  }

  /// Tries at once, while the client waits to come back or was refused: the network is there again, or the person has
  /// done something about it.
  public func connect() async {
    guard run.withLock({ $0 != nil }) else { return }
    await engine.take { $0.connectAsked() }
  }

  /// Ends ``run()``. What was asked for and has no answer fails with `closed`.
  public func close() { run.withLock { $0?.finish() } }

  public var state: ConnectionState { listeners.connection }

  /// Everything that happens from now on; at most `limit` wait to be taken.
  public func events(limit: Int = 1_024) -> Told<Event> { listeners.events(limit: limit) }

  /// A room, joined or not.
  public func room(_ id: RoomID) -> Room { Room(id: id, engine: engine, listeners: listeners) }

  /// Makes any request of the protocol, and returns its reply; fails with `closed` without a connection.
  public func request(_ type: String, _ fields: [String: JSON] = [:]) async throws -> JSON {
    try await engine.reply { $0.requested(type, fields, $1) }
  }

  /// What the app knows of whether a person is looking: from the scene's phase, and from input.
  public func tell(_ activity: Activity) async { await engine.take { $0.activityChanged(activity) } }

  /// Tells whether a Focus silences notifications here, as the app reads it from `INFocusStatusCenter`. It is told again
  /// after a reconnect until the relay has answered; a newer report takes its place.
  ///
  /// The Intents extension, which has no socket, says the same through ``FocusReporter``.
  @discardableResult
  public func report(_ focus: FocusReport) async throws -> FocusOutcome {
    FocusOutcome(try await engine.reply { $0.focusReported(focus, $1) })
  }

  /// What the person did with a notification; see ``RelayAPI/respond(to:with:text:key:)`` for doing it without a socket.
  public func respond(
    to notification: String, with action: ActionID, text: String? = nil, key: String? = nil
  ) async throws {
    var fields: [String: JSON] = ["notification": .string(notification), "action": .string(action.rawValue)]
    fields["text"] = text.map(JSON.string)
    fields["key"] = key.map(JSON.string)
    _ = try await request("respond", fields)
  }

  /// Entries of people with whom no room need be shared; from now on their changes are events of type `presence`.
  public func watch(_ users: [UserID]) async throws -> [Presence] {
    let reply = try await request("watch", ["users": .array(users.map { .string($0.rawValue) })])
    return reply["presence"]?.items?.compactMap(Presence.init) ?? []
  }
}
