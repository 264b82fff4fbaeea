// SPDX-License-Identifier: Apache-2.0
// Performs the steps of `NotificationDelivery` with tasks. Has no dependency on Apple's frameworks: the content of a
// notification is a type parameter, and the work consists of closures.
public import Foundation

/// The work for a notification.
public struct NotificationWork: Sendable {
  /// Donates the intent to the system, with the picture if it is loaded. Is not called for a notification without a
  /// communication.
  public var donate: @Sendable (Data?) async -> Void
  /// Loads the picture of the sender or of the group. Is `nil` if the notification has none.
  public var loadPicture: (@Sendable () async throws -> Data)?
  /// Loads the image of the notification to a file. Is `nil` if the notification has none.
  public var loadImage: (@Sendable () async throws -> URL)?
  /// Reports the arrival to the relay. Is `nil` if there is nothing to report.
  public var report: (@Sendable () async -> Void)?

  public init(
    donate: @escaping @Sendable (Data?) async -> Void = { _ in },
    loadPicture: (@Sendable () async throws -> Data)? = nil,
    loadImage: (@Sendable () async throws -> URL)? = nil, report: (@Sendable () async -> Void)? = nil
  ) {
    self.donate = donate
    self.loadPicture = loadPicture
    self.loadImage = loadImage
    self.report = report
  }
}

/// The changes to the content of a notification. They are called on one thread, immediately before the delivery.
/// `update` may be called twice: with the picture, and without it if that fails.
public struct NotificationEdits<Content> {
  /// Returns the content with this image as an attachment, or `nil` if that fails.
  var attach: (Content, URL) -> Content?
  /// Returns the communication notification, with or without a picture, or `nil` if the system rejects the intent.
  var update: (Content, Data?) -> Content?
  /// Returns the content in place of the push if its recipient has signed out since its arrival. Otherwise returns `nil`.
  var hide: () -> Content?

  public init(
    attach: @escaping (Content, URL) -> Content? = { _, _ in nil },
    update: @escaping (Content, Data?) -> Content? = { _, _ in nil }, hide: @escaping () -> Content? = { nil }
  ) {
    self.attach = attach
    self.update = update
    self.hide = hide
  }
}

/// One notification in a service extension: starts the work, and calls the content handler exactly once.
///
/// All methods may be called on any thread.
public final class NotificationRun<Content>: @unchecked Sendable {
  // `lock` protects all variables. The content and the edits are not Sendable: after `init` only the thread that has
  // taken the handler uses them.
  private let lock = NSLock()
  private var delivery: NotificationDelivery
  private var picture: Data?
  private var image: URL?
  private var handler: ((Content) -> Void)?
  private var tasks: [Task<Void, Never>] = []

  private let original: Content
  private let edits: NotificationEdits<Content>
  private let work: NotificationWork
  private let limit: Duration

  /// - Parameters:
  ///   - original: The content of the push.
  ///   - isCommunication: True if the push is a message or a call of a person.
  ///   - work: The work to start.
  ///   - limit: Maximum time until the delivery, at most ``NotificationDelivery/maxLimit``. The system calls
  ///     ``expire()`` after about 30 s.
  ///   - edits: The changes to the content.
  ///   - deliver: The content handler of the system.
  public init(
    original: Content, isCommunication: Bool, work: NotificationWork, limit: Duration = NotificationDelivery.limit,
    edits: NotificationEdits<Content> = NotificationEdits(), deliver: @escaping (Content) -> Void
  ) {
    self.original = original
    self.edits = edits
    self.work = work
    self.limit = min(max(limit, .zero), NotificationDelivery.maxLimit)
    handler = deliver
    delivery = NotificationDelivery(
      isCommunication: isCommunication, hasPicture: work.loadPicture != nil, hasImage: work.loadImage != nil,
      hasReport: work.report != nil)
  }

  /// Starts the work. If there is no work, it delivers the notification before it returns. Call this once.
  /// - Parameter clock: The clock of the limits.
  public func start(clock: any Clock<Duration> = ContinuousClock()) {
    if let report = work.report {
      // Is not cancelled: the relay may have received a receipt whose reply is late.
      Task {
        guard !isDelivered else { return }
        await report()
        take(.reportEnded)
      }
      end(NotificationDelivery.reportLimit, .reportTimedOut, clock)
    }
    advance { $0.begin() }
    if isDelivered { return }
    if let loadPicture = work.loadPicture {
      keep(
        Task {
          let loaded = try? await loadPicture()
          lock.withLock { picture = loaded }
          take(loaded == nil ? .pictureFailed : .pictureLoaded)
        })
    }
    if let loadImage = work.loadImage {
      keep(
        Task {
          let loaded = try? await loadImage()
          lock.withLock { image = loaded }
          take(loaded == nil ? .imageFailed : .imageLoaded)
        })
    }
    if work.loadPicture != nil || work.loadImage != nil {
      end(NotificationDelivery.loadingLimit(of: limit), .loadingTimedOut, clock)
    }
    end(limit, .timedOut, clock)
  }

  /// Delivers the best attempt, if nothing was delivered yet. Call it in `serviceExtensionTimeWillExpire()`.
  public func expire() { take(.expired) }

  private var isDelivered: Bool { lock.withLock { handler == nil } }

  /// Applies an event after a time.
  private func end(_ time: Duration, _ event: NotificationDelivery.Event, _ clock: any Clock<Duration>) {
    keep(
      Task {
        guard (try? await clock.sleep(for: time)) != nil else { return }
        take(event)
      })
  }

  private func take(_ event: NotificationDelivery.Event) { advance { $0.take(event) } }

  /// Advances the delivery, and performs its next step.
  private func advance(_ step: (inout NotificationDelivery) -> NotificationDelivery.Action?) {
    lock.lock()
    guard let action = step(&delivery), let handler else { return lock.unlock() }
    let (picture, image) = (picture, image)
    switch action {
    case .donate(let hasPicture):
      lock.unlock()
      keep(
        Task {
          await work.donate(hasPicture ? picture : nil)
          take(.donationEnded)
        })
    case .deliver(let content):
      self.handler = nil
      let tasks = tasks
      self.tasks = []
      lock.unlock()
      // The handler may block or call back, so the lock is not held.
      handler(compose(content, picture, image))
      tasks.forEach { $0.cancel() }
    }
  }

  private func compose(_ chosen: NotificationDelivery.Content, _ picture: Data?, _ image: URL?) -> Content {
    if let hidden = edits.hide() { return hidden }
    var content = original
    if chosen.hasImage, let image, let attached = edits.attach(content, image) { content = attached }
    guard chosen.isCommunication else { return content }
    if chosen.hasPicture, let picture, let updated = edits.update(content, picture) { return updated }
    return edits.update(content, nil) ?? content
  }

  /// Stores a task, and cancels it if the notification is delivered already.
  private func keep(_ task: Task<Void, Never>) {
    lock.lock()
    defer { lock.unlock() }
    if handler == nil { task.cancel() } else { tasks.append(task) }
  }
}
