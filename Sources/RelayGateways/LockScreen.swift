// SPDX-License-Identifier: Apache-2.0
public import RelayDelivery
public import RelayProtocol

/// A push as it stands on the lock screen of a simulated phone.
public struct ShownNotification: Equatable, Sendable {
  public var push: Push
  /// When it came.
  public var time: Timestamp

  public init(push: Push, time: Timestamp) {
    self.push = push
    self.time = time
  }

  /// `{"payload":…,"headers":{…},"time":…}`, with the headers under Apple's names.
  public var json: [UInt8] {
    JSONWriter.object { object in
      object.raw("payload", push.payload)
      object.object("headers") { headers in
        for field in push.fields { headers[field.name] = field.value }
      }
      object.integer("time", time.rawValue)
    }
  }
}

/// What a simulated gateway knows of one phone.
public struct SimulatedPhone: Sendable {
  /// Whether pushes get there. While they do not, they are tried again.
  public internal(set) var isReachable = true
  var screen = LockScreen()

  /// What is on its lock screen, oldest first.
  public var notifications: [ShownNotification] { screen.notifications }

  /// `{"notifications":[…],"isReachable":…}`
  public var json: [UInt8] {
    JSONWriter.object { object in
      object.array("notifications") { list in
        for notification in notifications { list.raw(notification.json) }
      }
      object.bool("isReachable", isReachable)
    }
  }
}

/// What happens on a lock screen.
public enum LockScreenEvent: Equatable, Sendable {
  /// Takes the place of the one with the same collapse id, if there is one.
  case shown(ShownNotification)
  /// The person opened the app, or the phone is not simulated any more.
  case cleared(count: Int)

  /// What a stream of server-sent events calls it.
  public var name: String {
    switch self {
    case .shown: "notification"
    case .cleared: "cleared"
    }
  }

  public var json: [UInt8] {
    switch self {
    case .shown(let notification): notification.json
    case .cleared(let count): JSONWriter.object { $0.integer("count", count) }
    }
  }
}

extension Push {
  /// Whether there is something to show; so it is taken where it cannot be told.
  var hasAlert: Bool { JSON(reading: payload)?["aps"].map { $0["alert"] != nil } ?? true }
}

/// The notifications of one phone, oldest first.
struct LockScreen: Sendable {
  private(set) var notifications: [ShownNotification] = []

  static let mostNotifications = 100

  /// A push without an alert shows nothing.
  mutating func show(_ notification: ShownNotification) -> SentNote {
    guard notification.push.hasAlert else { return .accepted }
    let id = notification.push.headers.collapseID
    let former = notifications.firstIndex { $0.push.headers.collapseID == id }
    if let former { notifications.remove(at: former) }
    if notifications.count == Self.mostNotifications { notifications.removeFirst() }
    notifications.append(notification)
    return former == nil ? .shown : .replaced
  }
}
