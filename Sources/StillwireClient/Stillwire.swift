// SPDX-License-Identifier: Apache-2.0
public import RelayJSON
import RelayProtocol
public import StillwireExtension

/// A client of a relay. It has one connection at a time, and reconnects by itself while ``run()`` runs.
///
/// All methods may be called from any task. Cancellation of a task removes its requests: a message that is not sent yet
/// is not sent.
public final class Stillwire: Sendable {
  package let engine: Engine
  private let listeners: Listeners
  private let runs = Locked(Runs())

  /// Makes a client. It connects when ``run()`` is called.
  public convenience init(_ configuration: Configuration) {
    func timekeeper(_ clock: some Clock<Duration>) -> any Timekeeper { ClockTimekeeper(clock) }
    self.init(configuration, hello: [:], time: timekeeper(configuration.clock))
  }

  /// - Parameters:
  ///   - hello: Additional members of the first frame.
  ///   - hasIdentity: True if the client uses the identity of the configuration. Otherwise `hello` contains it.
  ///   - time: The clock for all timeouts and delays.
  ///   - wall: The wall-clock time, for Focus reports.
  ///   - observe: Called for each event immediately, on the client's event loop.
  package init(
    _ configuration: Configuration, hello: [String: JSON], hasIdentity: Bool = true, time: any Timekeeper,
    wall: @escaping @Sendable () -> Timestamp = { .wall },
    observe: @escaping @Sendable (Event) -> Void = { _ in }
  ) {
    var hello = hello
    hello["client"] = ["name": "stillwire-swift", "version": .string(stillwireVersion)]
    if let device = configuration.device { hello["device"] = .string(device.rawValue) }
    if let app = configuration.app { hello["app"] = .string(app) }
    if let inbox = configuration.inbox {
      var options: [String: JSON] = ["preview": inbox.hasPreview ? "text" : "none"]
      options["since"] = inbox.since.map(JSON.string)
      hello["inbox"] = .object(options)
    }
    let listeners = Listeners()
    self.listeners = listeners
    engine = Engine(
      connector: WebSocketConnector(maxMessageSize: configuration.maxMessageSize),
      settings: ClientMachine.Settings(
        addresses: configuration.addresses, hello: hello, timeout: configuration.timeout, outbox: configuration.outbox,
        random: configuration.random, time: wall, key: Self.newKey),
      time: time, identity: hasIdentity ? configuration.identity : nil
    ) { event in
      listeners.emit(event)
      observe(event)
    }
  }

  /// A new idempotency key of 128 random bits.
  @Sendable private static func newKey() -> String {
    var generator = SystemRandomNumberGenerator()
    return "\(String(generator.next(), radix: 36))-\(String(generator.next(), radix: 36))"
  }

  /// Connects, and reconnects after each loss of the connection, until the task is cancelled or ``close()`` is called.
  /// Then it closes the connection with code 1000, so that the relay ends the session immediately. The socket is closed
  /// when the method returns.
  ///
  /// If the relay refuses the client (``ConnectionState/refused(_:)``), the method continues, and waits for
  /// ``connect()``.
  ///
  /// A client runs once at a time. A second call waits until the earlier run has ended, and then connects.
  public func run() async {
    let (turns, turn) = AsyncStream.makeStream(of: Void.self)
    let number = runs.withLock { $0.begin(turn) }
    for await _ in turns { await engine.take { $0.connectRequested() } }
    if runs.current.first == number { await engine.shutDown() }
    runs.withLock { $0.end(number) }
  }

  /// Connects immediately, if the client waits to reconnect or was refused. Call it when the network is available
  /// again, or when the person has corrected the cause of a refusal.
  public func connect() async {
    guard runs.current.first != nil else { return }
    await engine.take { $0.connectRequested() }
  }

  /// Ends ``run()``, also the calls that wait. Requests without a reply fail with `closed`.
  public func close() { runs.withLock { $0.finish() } }

  /// The number of calls of ``run()`` that run or wait.
  var waitingRuns: Int { runs.current.count }

  /// The current state of the connection.
  public var state: ConnectionState { listeners.connection }

  /// All events from now on.
  /// - Parameter limit: Maximum number of events that the reader has not taken yet. The oldest are lost beyond it.
  public func events(limit: Int = 1_024) -> Subscription<Event> { listeners.events(limit: limit) }

  /// The room with this id. It need not be joined.
  public func room(_ id: RoomID) -> Room { Room(id: id, engine: engine, listeners: listeners) }

  /// Sends any request of the protocol, and returns its reply. Fails with `closed` if there is no connection. Users of an
  /// accepted `watch` are watched again after each reconnect, until `unwatch`.
  public func request(_ type: String, _ fields: [String: JSON] = [:]) async throws -> JSON {
    try await engine.reply { $0.requested(type, fields, $1) }
  }

  /// Reports the activity of the person. Derive it from the scene's phase and from input. After `background` the client
  /// finds out immediately if the connection still works, and reconnects without a delay.
  public func report(_ activity: Activity) async { await engine.take { $0.activityChanged(activity) } }

  /// Reports the Focus of this device, which the app reads from `INFocusStatusCenter`. The client sends the report
  /// again after a reconnect until the relay has answered. A newer report replaces it, also that of an extension.
  ///
  /// The Intents extension, which has no socket, reports through ``FocusReporter``.
  @discardableResult
  public func report(_ focus: FocusReport) async throws -> FocusOutcome {
    FocusOutcome(try await engine.reply { $0.focusReported(focus, $1) })
  }

  /// Registers this device for pushes. Returns its new report key, for the app's extensions, and the relay's warnings.
  /// Fails with `closed` if there is no connection. Without one, use ``RelayAPI/register(_:)``.
  public func register(_ registration: PushRegistration) async throws -> DeviceRegistration {
    try DeviceRegistration(try await request("device", registration.fields))
  }

  /// Reports the action that the person chose in a notification. Without a socket, use
  /// ``RelayAPI/respond(to:with:text:key:)``.
  public func respond(
    to notification: String, with action: ActionID, text: String? = nil, key: String? = nil
  ) async throws {
    var fields: [String: JSON] = ["notification": .string(notification), "action": .string(action.rawValue)]
    fields["text"] = text.map(JSON.string)
    fields["key"] = key.map(JSON.string)
    _ = try await request("respond", fields)
  }

  /// Returns the presence of users, also of users without a common room. From now on the relay sends changes of their
  /// presence: ``Event/frame(_:)`` of type `presence`. The client watches the users again after each reconnect, until
  /// ``unwatch(_:)``.
  public func watch(_ users: [UserID]) async throws -> [Presence] {
    let reply = try await request("watch", ["users": .array(users.map { .string($0.rawValue) })])
    return reply["presence"]?.items?.compactMap(Presence.init) ?? []
  }
  /// Ends the watch of users. If it fails with `closed`, the client does not watch them again.
  public func unwatch(_ users: [UserID]) async throws {
    _ = try await request("unwatch", ["users": .array(users.map { .string($0.rawValue) })])
  }
}
