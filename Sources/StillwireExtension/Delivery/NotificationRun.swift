// SPDX-License-Identifier: Apache-2.0
// Performs the decisions of `NotificationDelivery` with tasks. Has no dependency on Apple's frameworks: the content of
// a notification is a type parameter, and the work consists of closures.
public import Foundation

/// The work for a notification. All parts run at the same time.
public struct NotificationWork: Sendable {
  /// Donates the intent to the system. Is not called for a notification without a communication.
  var donate: @Sendable () async -> Void
  /// Loads the picture. Is `nil` if the notification has none.
  var loadPicture: (@Sendable () async throws -> Data)?
  /// Reports the arrival to the relay. The delivery does not wait for it.
  var report: @Sendable () async -> Void

  public init(
    donate: @escaping @Sendable () async -> Void = {}, loadPicture: (@Sendable () async throws -> Data)? = nil,
    report: @escaping @Sendable () async -> Void = {}
  ) {
    self.donate = donate
    self.loadPicture = loadPicture
    self.report = report
  }
}

/// One notification in a service extension: starts the work, and calls the content handler exactly once.
///
/// All methods may be called on any thread.
public final class NotificationRun<Content>: @unchecked Sendable {
  // `lock` protects all variables. The contents are not Sendable: after `init` only the thread that holds the lock, or
  // the one that has taken the handler, uses them.
  private let lock = NSLock()
  private var delivery: NotificationDelivery
  private let original: Content
  private let communication: Content?
  private var withPicture: Content?
  private var handler: ((Content) -> Void)?
  private var tasks: [Task<Void, Never>] = []

  private let work: NotificationWork
  private let addPicture: (Data) -> Content?
  private let limit: Duration

  /// - Parameters:
  ///   - original: The content of the push.
  ///   - communication: The communication notification without a picture. Is `nil` for a digest and a plain notification.
  ///   - work: The work to start.
  ///   - limit: Maximum time to wait for the picture and the donation. The system calls ``expire()`` after about 30 s.
  ///   - addPicture: Returns the communication notification with this picture, or `nil` if that fails. One thread calls
  ///     it, once.
  ///   - deliver: The content handler of the system.
  public init(
    original: Content, communication: Content?, work: NotificationWork, limit: Duration,
    addPicture: @escaping (Data) -> Content? = { _ in nil }, deliver: @escaping (Content) -> Void
  ) {
    self.original = original
    self.communication = communication
    self.work = work
    self.limit = limit
    self.addPicture = addPicture
    handler = deliver
    delivery = NotificationDelivery(isCommunication: communication != nil, hasPicture: work.loadPicture != nil)
  }

  /// Starts the work. Delivers a notification without a communication before it returns. Call this once.
  /// - Parameter clock: The clock of the limit.
  public func start(clock: any Clock<Duration> = ContinuousClock()) {
    let report = work.report
    Task { await report() }
    if advance({ $0.begin() }) { return }
    keep(
      Task {
        await work.donate()
        take(.donationEnded)
      })
    if let loadPicture = work.loadPicture {
      keep(Task { await load(loadPicture) })
    }
    keep(
      Task {
        guard (try? await clock.sleep(for: limit)) != nil else { return }
        take(.timedOut)
      })
  }

  /// Delivers the best attempt, if nothing was delivered yet. Call it in `serviceExtensionTimeWillExpire()`.
  public func expire() { take(.expired) }

  private func load(_ loadPicture: @Sendable () async throws -> Data) async {
    guard let picture = try? await loadPicture() else { return take(.pictureFailed) }
    attach(picture)
  }

  private func attach(_ picture: Data) {
    let content = addPicture(picture)
    lock.lock()
    withPicture = content
    lock.unlock()
    take(content == nil ? .pictureFailed : .pictureLoaded)
  }

  private func take(_ event: NotificationDelivery.Event) { _ = advance { $0.take(event) } }

  /// Advances the delivery, and delivers its content. Returns true if it delivered.
  private func advance(_ step: (inout NotificationDelivery) -> NotificationDelivery.Content?) -> Bool {
    lock.lock()
    guard let chosen = step(&delivery), let handler else {
      lock.unlock()
      return false
    }
    let content =
      switch chosen {
      case .original: original
      case .communication: communication ?? original
      case .communicationWithPicture: withPicture ?? communication ?? original
      }
    self.handler = nil
    let tasks = tasks
    self.tasks = []
    lock.unlock()
    // The handler may block or call back, so the lock is not held.
    handler(content)
    tasks.forEach { $0.cancel() }
    return true
  }

  /// Stores a task, and cancels it if the notification is delivered already.
  private func keep(_ task: Task<Void, Never>) {
    lock.lock()
    defer { lock.unlock() }
    if handler == nil { task.cancel() } else { tasks.append(task) }
  }
}
