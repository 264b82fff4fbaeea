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
  /// Is empty for a call screen.
  var contents = ScreenContents()

  /// True if a push to the same account removes it, see ``RelayProtocol/NotificationRemoval``.
  func isRemoved(by removals: Removals, of recipient: UserID?) -> Bool {
    contents.recipient == recipient
      && NotificationRemoval.removes(
        contents.identity, contents: contents.messages, read: removals.read, removed: removals.removed)
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

/// The parts of a push that change a lock screen.
struct ScreenContents: Equatable, Sendable {
  var hasAlert = true
  var badge: Int?
  var removals = Removals()
  /// The account that the push is for.
  var recipient: UserID?
  /// The message by which the phone knows the notification.
  var identity: MessageReference?
  /// The newest message of each room in the notification, as far as the payload has them.
  var messages: [MessageReference] = []

  init() {}

  /// - Parameter rooms: The number of rooms that the payload lists.
  init(_ push: PhonePush, rooms: Int) {
    hasAlert = push.level != nil
    badge = push.badge
    removals = push.carried
    recipient = push.recipient
    identity = push.identity
    messages = Array(push.messages.prefix(max(1, rooms)))
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
  /// A new notification. It replaces the notification with the same collapse id, if there is one. The push may also
  /// remove notifications and change the number on the app's icon.
  case shown(ShownNotification)
  /// A push without an alert changed the number on the app's icon. It may also remove notifications.
  case badged(ShownNotification)
  /// A push only removed notifications, see its `read` and `removed`.
  case removed(ShownNotification)
  /// The user opened the app, or the gateway removed the phone.
  case cleared(count: Int)

  /// The event's name in a stream of server-sent events.
  public var name: String {
    switch self {
    case .shown: "notification"
    case .badged: "badge"
    case .removed: "removed"
    case .cleared: "cleared"
    }
  }

  public var json: [UInt8] {
    switch self {
    case .shown(let notification), .badged(let notification), .removed(let notification): notification.json
    case .cleared(let count): JSONWriter.object { $0.integer("count", count) }
    }
  }
}

/// The notifications of one phone, oldest first.
struct LockScreen: Sendable {
  private(set) var notifications: [ShownNotification] = []
  private(set) var badge: Int64 = 0

  static let maxNotifications = 100

  /// Shows a push: its removals, its alert and its badge, as iOS and the app's extension do.
  /// - Returns: The result, and the event for listeners. The event is `nil` when the push changes nothing visible.
  mutating func show(_ notification: ShownNotification) -> (note: SentNote, event: LockScreenEvent?) {
    let contents = notification.contents
    let count = notifications.count
    notifications.removeAll { $0.isRemoved(by: contents.removals, of: contents.recipient) }
    if let badge = contents.badge { self.badge = Int64(badge) }
    guard contents.hasAlert else {
      if contents.badge != nil { return (.accepted, .badged(notification)) }
      return (.accepted, notifications.count < count ? .removed(notification) : nil)
    }
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
