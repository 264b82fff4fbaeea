// SPDX-License-Identifier: Apache-2.0
import NIOCore
package import RelayJSON
import RelayProtocol

/// Performs the actions of `ClientMachine`, and supplies its events. It owns the socket and the timer.
///
/// It runs on the event loop of its sockets, so that a frame is processed on the thread that reads it.
package actor Engine {
  private nonisolated let loop: any EventLoop
  private nonisolated let executor: LoopExecutor
  package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private let connector: WebSocketConnector
  private let identity: (@Sendable (Bool) async throws -> Identity)?
  private nonisolated let time: any Timekeeper
  /// Called for each event, on the loop and in order. It must not block.
  private let emit: @Sendable (Event) -> Void
  private(set) var machine: ClientMachine
  private var channel: (any Channel)?
  private var opening: Task<Void, Never>?
  private var renewing: Task<Void, Never>?
  private var timer: (due: Duration, task: Task<Void, Never>)?
  private var waiting: [Ticket: @Sendable (Result<JSON, any Error>) -> Void] = [:]
  private var lastTicket: Ticket = 0

  init(
    connector: WebSocketConnector, settings: ClientMachine.Settings, time: any Timekeeper,
    identity: (@Sendable (Bool) async throws -> Identity)?, emit: @escaping @Sendable (Event) -> Void
  ) {
    loop = Transport.loop
    executor = LoopExecutor(loop)
    self.connector = connector
    self.identity = identity
    self.time = time
    self.emit = emit
    machine = ClientMachine(settings)
  }

  var state: ConnectionState { machine.state }
  var invitationCount: Int { machine.invitationCount }
  package var nextDue: Duration? { machine.nextDue }

  /// Applies an event to the machine, and performs the actions that follow.
  package func take(_ input: @Sendable (inout ClientMachine) -> Void) {
    for action in machine.take(at: time.now, input) { perform(action) }
    setTimer()
  }

  /// Starts a request. Calls `done` once with the result, on the loop.
  package func request(
    _ input: @Sendable (inout ClientMachine, Ticket) -> Void,
    done: @escaping @Sendable (Result<JSON, any Error>) -> Void
  ) {
    lastTicket += 1
    let ticket = lastTicket
    waiting[ticket] = done
    take { input(&$0, ticket) }
  }

  /// Starts a request, and returns its result. Cancellation of the task removes the request.
  func reply(_ input: @Sendable (inout ClientMachine, Ticket) -> Void) async throws -> JSON {
    let ticket = lastTicket + 1
    return try await withTaskCancellationHandler {
      try Task.checkCancellation()
      return try await withCheckedThrowingContinuation { continuation in
        request(input) { continuation.resume(with: $0) }
      }
    } onCancel: {
      Task { await self.cancel(ticket) }
    }
  }

  private func cancel(_ ticket: Ticket) {
    guard let done = waiting.removeValue(forKey: ticket) else { return }
    done(.failure(CancellationError()))
    take { $0.cancelled(ticket) }
  }

  /// Closes the connection with code 1000, and returns when all tasks and the socket have ended.
  func shutDown() async {
    let channel = channel
    take { $0.closeRequested() }
    timer?.task.cancel()
    timer = nil
    await opening?.value
    await renewing?.value
    // Ends at the latest with the timeout of the close handshake.
    try? await channel?.closeFuture.get()
  }

  private func perform(_ action: Action) {
    switch action {
    case .open(let attempt, let address, let isExpired): open(attempt, address, isExpired)
    case .renew(let attempt):
      renewing = Task { await renew(attempt) }
    case .write(let text): handler { $0.send(text) }
    case .close(let code):
      opening?.cancel()
      renewing?.cancel()
      handler { $0.close(code: code) }
      channel = nil
    case .drop:
      opening?.cancel()
      renewing?.cancel()
      channel?.close(promise: nil)
      channel = nil
    case .emit(let event): emit(event)
    case .finish(let ticket, let result): waiting.removeValue(forKey: ticket)?(result.mapError(\.self))
    }
  }

  private func handler(_ body: (WebSocketHandler) -> Void) {
    guard let channel, let handler = try? channel.pipeline.syncOperations.handler(type: WebSocketHandler.self) else {
      return
    }
    body(handler)
  }

  // MARK: Sockets

  private func open(_ attempt: Int, _ address: RelayAddress, _ isExpired: Bool) {
    opening?.cancel()
    renewing?.cancel()
    opening = Task { await connect(attempt, address, isExpired) }
  }

  private func connect(_ attempt: Int, _ address: RelayAddress, _ isExpired: Bool) async {
    let identity: Identity?
    do {
      identity = try await newIdentity(isExpired)
    } catch {
      return failed(attempt) { $0.identityFailed(error as? StillwireError) }
    }
    guard machine.attempt == attempt, !Task.isCancelled else { return }
    take { $0.identityArrived() }
    do {
      let channel = try await connector.connect(to: address, on: loop) { event in
        // The channel is registered on the actor's own loop.
        self.onLoop { $0.received(event, attempt) }
      }
      guard machine.attempt == attempt, machine.isConnecting, !Task.isCancelled else {
        return channel.close(promise: nil)
      }
      self.channel = channel
      take { $0.opened(identity) }
    } catch {
      let answer = error as? ConnectError
      failed(attempt) { $0.attemptFailed(leader: answer?.leader, isStandby: answer?.isStandby ?? false) }
    }
  }

  private func failed(_ attempt: Int, _ input: @Sendable (inout ClientMachine) -> Void) {
    guard machine.attempt == attempt, !Task.isCancelled else { return }
    take(input)
  }

  /// Requests a newer token from the app.
  private func renew(_ attempt: Int) async {
    do {
      let newer = try await newIdentity(true)
      take { $0.renewed(newer, of: attempt) }
    } catch {
      take { $0.renewalFailed(error as? StillwireError, of: attempt) }
    }
  }

  private func newIdentity(_ isExpired: Bool) async throws -> Identity? {
    let identity = try await identity?(isExpired)
    try identity?.check()
    return identity
  }

  /// Performs work in a callback on the loop, without a task.
  ///
  /// Before iOS 18, `assumeIsolated` traps outside of a task: the runtime cannot ask the executor for its thread. This
  /// method has the same cast, and checks the thread itself.
  private nonisolated func onLoop(_ work: (isolated Engine) -> Void) {
    loop.preconditionInEventLoop()
    withoutActuallyEscaping(work) { unsafeBitCast($0, to: ((Engine) -> Void).self)(self) }
  }

  private func received(_ event: SocketEvent, _ attempt: Int) {
    guard machine.attempt == attempt else { return }
    take { machine in
      switch event {
      case .partArrived: machine.partArrived()
      case .textArrived(let text): machine.textArrived(text)
      case .bytesArrived: machine.nonsenseArrived()
      case .closed(let code, let reason): machine.socketClosed(code: code, reason: reason)
      }
    }
  }

  // MARK: Time

  private func setTimer() {
    guard let due = machine.nextDue else { return }
    // An earlier timer may stay: it finds no work, and then sets the next timer.
    if let timer, timer.due <= due { return }
    timer?.task.cancel()
    timer = (
      due,
      Task {
        guard (try? await time.sleep(until: due)) != nil, !Task.isCancelled else { return }
        timer = nil
        timePassed()
      }
    )
  }

  package func timePassed() { take { $0.timePassed() } }
}
