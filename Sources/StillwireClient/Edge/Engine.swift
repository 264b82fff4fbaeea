// SPDX-License-Identifier: Apache-2.0
import NIOCore
package import RelayJSON
import RelayProtocol

/// Does what the machine decides: the only one who has a socket and a timer. It lives on one event loop, the one of its
/// sockets, so that a frame is decided on where it arrives.
package actor Engine {
  private nonisolated let loop: any EventLoop
  /// The loop lives as long as the process (``Transport/loop``).
  package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.executor.asUnownedSerialExecutor() }

  private let connector: WebSocketConnector
  private let identity: (@Sendable (Bool) async throws -> Identity)?
  private nonisolated let time: any Timekeeper
  /// Told on the loop, in order; it must not wait.
  private let tell: @Sendable (Event) -> Void
  private(set) var machine: ClientMachine
  private var channel: (any Channel)?
  private var opening: Task<Void, Never>?
  private var renewing: Task<Void, Never>?
  private var timer: (due: Duration, task: Task<Void, Never>)?
  private var waiting: [Ticket: @Sendable (Result<JSON, any Error>) -> Void] = [:]
  private var lastTicket: Ticket = 0

  init(
    connector: WebSocketConnector, settings: ClientMachine.Settings, time: any Timekeeper,
    identity: (@Sendable (Bool) async throws -> Identity)?, tell: @escaping @Sendable (Event) -> Void
  ) {
    loop = Transport.loop
    self.connector = connector
    self.identity = identity
    self.time = time
    self.tell = tell
    machine = ClientMachine(settings)
  }

  var state: ConnectionState { machine.state }
  package var nextDue: Duration? { machine.nextDue }

  /// Something happened.
  package func take(_ input: @Sendable (inout ClientMachine) -> Void) {
    for action in machine.take(at: time.now, input) { perform(action) }
    setTimer()
  }

  /// Something is asked for; `done` hears once, on the loop, what came of it.
  package func ask(
    _ input: @Sendable (inout ClientMachine, Ticket) -> Void,
    done: @escaping @Sendable (Result<JSON, any Error>) -> Void
  ) {
    lastTicket += 1
    let ticket = lastTicket
    waiting[ticket] = done
    take { input(&$0, ticket) }
  }

  /// What came of something that is asked for. When the task is cancelled, it is taken off.
  func reply(_ input: @Sendable (inout ClientMachine, Ticket) -> Void) async throws -> JSON {
    let ticket = lastTicket + 1
    return try await withTaskCancellationHandler {
      try Task.checkCancellation()
      return try await withCheckedThrowingContinuation { continuation in
        ask(input) { continuation.resume(with: $0) }
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

  /// Whatever is under way ends; the relay is told goodbye.
  func shutDown() async {
    let channel = channel
    take { $0.closeAsked() }
    timer?.task.cancel()
    timer = nil
    await opening?.value
    await renewing?.value
    // Not later than the close handshake may take.
    try? await channel?.closeFuture.get()
  }

  private func perform(_ action: Action) {
    switch action {
    case .open(let attempt, let isExpired): open(attempt, isExpired)
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
    case .tell(let event): tell(event)
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

  private func open(_ attempt: Int, _ isExpired: Bool) {
    opening?.cancel()
    renewing?.cancel()
    opening = Task { await connect(attempt, isExpired) }
  }

  private func connect(_ attempt: Int, _ isExpired: Bool) async {
    do {
      let identity = try await identity?(isExpired)
      let channel = try await connector.connect(on: loop) { event in
        // The channel is registered on the actor's own loop.
        self.assumeIsolated { $0.heard(event, attempt) }
      }
      guard machine.attempt == attempt, machine.isConnecting, !Task.isCancelled else {
        return channel.close(promise: nil)
      }
      self.channel = channel
      take { $0.opened(identity) }
    } catch {
      guard machine.attempt == attempt, !Task.isCancelled else { return }
      take { $0.attemptFailed() }
    }
  }

  /// What goes wrong here is left to the end of the token, after which the client comes back with a newer one.
  private func renew(_ attempt: Int) async {
    guard let newer = try? await identity?(true) else { return }
    take { $0.renewed(newer, of: attempt) }
  }

  private func heard(_ event: SocketEvent, _ attempt: Int) {
    guard machine.attempt == attempt else { return }
    take { machine in
      switch event {
      case .textArrived(let text): machine.textArrived(text)
      case .bytesArrived: machine.nonsenseArrived()
      case .closed(let code, let reason): machine.socketClosed(code: code, reason: reason)
      }
    }
  }

  // MARK: Time

  private func setTimer() {
    guard let due = machine.nextDue else { return }
    // One that goes off too early finds nothing to do, and is set anew.
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
