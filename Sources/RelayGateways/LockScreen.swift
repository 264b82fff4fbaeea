// SPDX-License-Identifier: Apache-2.0
// The simulated phones of `SimulatedGateway`: their lock screens, badges and events, with their JSON.
public import RelayDelivery
import RelayJSON
public import RelayProtocol

/// A notification on the lock screen of a simulated phone.
public struct ShownNotification: Equatable, Sendable {
  public var push: Push
  /// The time of arrival.
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

/// The state of one phone of the simulated gateway.
public struct SimulatedPhone: Sendable {
  /// False while pushes to the phone fail. The relay retries them.
  public internal(set) var isReachable = true
  var screen = LockScreen()

  /// The notifications on the lock screen, oldest first.
  public var notifications: [ShownNotification] { screen.notifications }

  /// The number on the app's icon, from the newest push with a badge.
  public var badge: Int64 { screen.badge }

  /// `{"notifications":[…],"badge":…,"isReachable":…}`
  public var json: [UInt8] {
    JSONWriter.object { object in
      object.array("notifications") { list in
        for notification in notifications { list.raw(notification.json) }
      }
      object.integer("badge", badge)
      object.bool("isReachable", isReachable)
    }
  }
}

/// An event on the lock screen of a simulated phone.
public enum LockScreenEvent: Equatable, Sendable {
  /// A new notification. It replaces the notification with the same collapse id, if there is one.
  case shown(ShownNotification)
  /// A push without an alert changed the number on the app's icon.
  case badged(ShownNotification)
  /// The user opened the app, or the gateway removed the phone.
  case cleared(count: Int)

  /// The event's name in a stream of server-sent events.
  public var name: String {
    switch self {
    case .shown: "notification"
    case .badged: "badge"
    case .cleared: "cleared"
    }
  }

  public var json: [UInt8] {
    switch self {
    case .shown(let notification), .badged(let notification): notification.json
    case .cleared(let count): JSONWriter.object { $0.integer("count", count) }
    }
  }
}

/// The effects of a push on a simulated phone.
private struct PushEffects {
  /// True if the push shows an alert, or if its payload cannot be read.
  let hasAlert: Bool
  let badge: Int64?

  init(_ push: Push) {
    let aps = JSON(reading: push.payload)?["aps"]
    hasAlert = aps.map { $0["alert"] != nil } ?? true
    if case .number(let text)? = aps?["badge"] {
      badge = Double(text).flatMap(Int64.init(exactly:))
    } else {
      badge = nil
    }
  }
}

/// The notifications of one phone, oldest first.
struct LockScreen: Sendable {
  private(set) var notifications: [ShownNotification] = []
  private(set) var badge: Int64 = 0

  static let maxNotifications = 100

  /// Shows a push: its alert, its badge, or both.
  /// - Returns: The result, and the event for listeners. The event is `nil` when the push changes nothing visible.
  mutating func show(_ notification: ShownNotification) -> (note: SentNote, event: LockScreenEvent?) {
    let effects = PushEffects(notification.push)
    if let badge = effects.badge { self.badge = badge }
    guard effects.hasAlert else { return (.accepted, effects.badge.map { _ in .badged(notification) }) }
    let id = notification.push.headers.collapseID
    let former = notifications.firstIndex { $0.push.headers.collapseID == id }
    if let former { notifications.remove(at: former) }
    if notifications.count == Self.maxNotifications { notifications.removeFirst() }
    notifications.append(notification)
    return (former == nil ? .shown : .replaced, .shown(notification))
  }

  /// Removes the notifications. The badge stays: only the app changes it.
  mutating func clear() { notifications.removeAll() }
}
