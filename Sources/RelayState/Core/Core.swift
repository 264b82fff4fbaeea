// SPDX-License-Identifier: Apache-2.0
package import Logging
package import RelayDelivery
package import RelayHub
package import RelayProtocol
package import RelayRequests
package import RelayStore

/// The actor on the hub's thread: the hub, the store, the settings and the diagnostics, which all components use.
///
/// The components are the other objects on this thread. Their methods take the actor, so hub and components change
/// together without a lock. The relay makes one object of each component. Its `init` gets the components that it calls,
/// and it reaches no others: it notifies the components above by a ``Change``.
package actor Core {
  package nonisolated let thread: HubThread
  package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  package let hub: Hub
  package let store: Store
  /// The current settings. ``use(_:)`` replaces them in one step.
  package private(set) var settings: RelaySettings
  package private(set) var stage = Stage.starting
  package let diagnostics: Diagnostics
  /// The owner of all components.
  package let owner: any ChangePublisher
  private var alarms = Alarms()

  /// The stage that `/ready` shows.
  package enum Stage: String {
    /// The relay serves clients, but still loads the rooms with undecided messages.
    case starting
    case ready
    /// Clients should connect to another server.
    case stopping
  }

  /// The delay before a retry after the store has failed.
  package static let storePause = Duration.seconds(1)

  package init(hub: sending Hub, store: Store, settings: RelaySettings, owner: sending any ChangePublisher, log: Logger)
  {
    thread = hub.thread
    hub.start()
    self.hub = hub
    self.store = store
    self.settings = settings
    self.owner = owner
    diagnostics = Diagnostics(log)
  }

  /// Replaces the settings. The caller passes them on to the components that keep values of their own.
  package func use(_ settings: RelaySettings) { self.settings = settings }

  /// Ends the start. Throws `CancellationError` if the relay has begun to end before.
  package func becomeReady() throws {
    try checkStarting()
    stage = .ready
  }

  /// Throws `CancellationError` if the relay ends before it has started.
  package func checkStarting() throws { if stage != .starting { throw CancellationError() } }

  /// Makes `/ready` answer 503 from now on, so that clients connect elsewhere.
  package func retire() { stage = .stopping }

  /// Sets an alarm. `nil` clears it.
  package func setAlarm(_ time: Timestamp?, for alarm: Alarms.Kind) {
    alarms[alarm] = time
    armAlarm()
  }

  /// Sets an alarm, unless it is already set for an earlier time.
  package func bringForward(_ alarm: Alarms.Kind, to time: Timestamp) {
    if alarms.bringForward(alarm, to: time) { armAlarm() }
  }

  /// Shifts an alarm when the wall clock is set.
  package func moveAlarm(_ alarm: Alarms.Kind, by step: Duration) {
    setAlarm(alarms[alarm].map { $0 + step }, for: alarm)
  }

  /// True if the time of the alarm has come. The alarm stays set.
  package func isDue(_ alarm: Alarms.Kind) -> Bool { alarms.isDue(alarm, at: hub.now) }

  /// Arms the hub's alarm, which fires once.
  package func armAlarm() { hub.setAlarm(alarms.next) }

  /// The stepless time now, which measures the age of reports of devices.
  package var moment: Moment { store.readClock().moment }

  package var limits: Limits { settings.limits }

  // MARK: Changes

  /// Passes a change on to the followers.
  package func publish(_ change: Change) { owner.publish(change, on: self) }

  /// Passes changes of one commit on to the followers, one after the other.
  package func publish(_ changes: [Change]) { for change in changes { publish(change) } }

  // MARK: Transactions
  //
  // | method | use |
  // |---|---|
  // | `commit` | a command changes rooms, messages or users, and followers act on it |
  // | `append` | a message is stored: the cheapest way, because each message takes it |
  // | `submit` | the hub or a component must follow in the order of the commits, or the caller does not wait |
  // | `store.write` | nothing in memory depends on the order of the commit |

  /// Runs `work` in a transaction, and then `completion` on the hub's thread. The completions have the order of the
  /// commits.
  /// - Parameters:
  ///   - rows: An estimate of the rows that the work writes. It limits the size of a transaction.
  ///   - isUrgent: False if the work may wait for other work.
  package func submit<T: Sendable>(
    rows: Int = 1, isUrgent: Bool = true, _ work: @escaping @Sendable (Transaction) throws -> T,
    then completion: @escaping (Result<T, StoreError>) -> Void
  ) {
    store.submit(work, rows: rows, isUrgent: isUrgent, completion: onActor(completion))
  }

  /// Calls `work` after the jobs that run now, when the hub's thread wakes next.
  package func later(_ work: @escaping () -> Void) {
    let work = onActor(work)
    thread.performLater { work(()) }
  }

  /// Returns a closure of this actor for another thread, which calls it on the thread of this actor. This is safe, also
  /// if the other thread releases the closure last: no object that it keeps alive does work at its end.
  private func onActor<T: Sendable>(_ work: @escaping (T) -> Void) -> @Sendable (T) -> Void {
    nonisolated(unsafe) let work = work
    return { [self] value in assumeIsolated { _ in work(value) } }
  }

  /// Stores a message, and then calls `completion` like ``submit(rows:isUrgent:_:then:)``.
  @inlinable package func append(
    _ message: QueuedMessage, then completion: @escaping (Result<Appended, StoreError>) -> Void
  ) {
    // Written out, because a generic closure would cost each message an allocation.
    nonisolated(unsafe) let completion = completion
    store.append(message) { [self] result in assumeIsolated { _ in completion(result) } }
  }

  /// Runs `work` in a transaction, and passes on what it has changed. Returns after the followers have received it.
  /// - Parameter changes: Called in the completion of the commit. After a failure it returns no change.
  package func commit<T: Sendable>(
    rows: Int = 1, _ work: @escaping @Sendable (Transaction) throws -> T,
    then changes: @escaping (Result<T, StoreError>) -> [Change]
  ) async throws(StoreError) -> T {
    let handover = Handover<Result<T, StoreError>>()
    submit(rows: rows, work) { [self] result in
      publish(changes(result))
      handover.give(result)
    }
    return try await handover.value().get()
  }

  // MARK: Errors

  /// Makes an `error` frame, and counts it.
  package func refusal(_ id: [UInt8]?, _ error: RequestError, room: RoomID? = nil) -> [UInt8] {
    diagnostics.tally.count(error.code)
    return Replies.error(id, error, room: room)
  }

  /// The error that a client receives. Logs a failure of the store.
  package func requestError(_ error: any Error) -> RequestError {
    guard let known = RequestError(known: error) else {
      diagnostics.log.error("an unexpected error: \(type(of: error))")
      return RequestError(.internal, "something went wrong here")
    }
    if let error = error as? StoreError, known.code.isTemporary { diagnostics.logFailure(of: error) }
    return known
  }

  /// Logs a failure of the store, or an unexpected error.
  package func logFailure(of error: any Error) { _ = requestError(error) }

  /// Performs work in the background. Repeats it after a failure that may pass, for example of the store. Ends if a
  /// repetition would fail, too, or if the relay stops.
  package func retry(_ work: nonisolated(nonsending) () async throws -> Void) async {
    while stage != .stopping {
      do {
        return try await work()
      } catch {
        guard await waitBeforeRetry(after: error) else { return }
      }
    }
  }

  /// Performs work in slices, each as ``retry(_:)`` does.
  /// - Parameter slice: Returns false after the last slice.
  package func retrySlices(_ slice: nonisolated(nonsending) () async throws -> Bool) async {
    await retry { while stage != .stopping, try await slice() {} }
  }

  /// Logs the failure of work in the background, and waits if the work may be repeated.
  /// - Returns: False if the work must not be repeated: the relay stops, or the error lasts until a restart (see
  ///   ``StoreError/isLasting``). Otherwise each request after a damage would add work that repeats until the restart.
  package func waitBeforeRetry(after error: any Error) async -> Bool {
    let isTemporary = requestError(error).code.isTemporary  // logs the failure
    guard isTemporary, (error as? StoreError)?.isLasting != true else { return false }
    try? await Task.sleep(for: Self.storePause)
    return stage != .stopping
  }

  // MARK: Rates

  /// Charges a user's rate for a request over HTTP, or for the additional cost of a request. The hub charges each frame
  /// of a session. Throws `rate_limited`.
  package func spend(_ rate: Rate, of user: UserHandle, count: Int = 1) throws(RequestError) {
    if count > 0, let delay = hub.takeTokens(rate, of: user, count: count) {
      throw RequestError(.rateLimited, rate.refusal, retryAfter: delay)
    }
  }

  /// Charges a room's rate. Throws `rate_limited`.
  package func spend(_ rate: RoomRate, of room: RoomHandle) throws(RequestError) {
    if let delay = hub.takeToken(rate, of: room) {
      throw RequestError(.rateLimited, "too many requests to the room", retryAfter: delay)
    }
  }

  /// Charges the rates of a message that a user sends. The hub (for a frame) or the HTTP layer has already taken one
  /// token of the sender. A backend pays nothing. Throws `rate_limited`, and ``HubRefusal/gone``.
  /// - Parameter pushes: True if the message may become a push.
  package func spend(sendTo room: RoomHandle, by caller: Caller, pushes: Bool) throws {
    guard let user = try caller.viewer(hub) else { return }
    if let delay = pushes ? hub.takeSend(to: room, by: user) : hub.takeToken(.send, of: room) {
      throw RequestError(.rateLimited, "too many messages to the room", retryAfter: delay)
    }
  }
}

/// The owner of all components, above the actor. It passes each change on to the followers among them.
package protocol ChangePublisher: AnyObject {
  func publish(_ change: Change, on core: isolated Core)
}
