// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// Compares the notifications that a phone shows with those that it should show, and decides the pushes for each
/// difference. Pure.
public enum PhonePlanner {
  /// The minimum time between two pushes that only set the badge of a device.
  public static let badgePause = Duration.seconds(60)
  /// The minimum time between two pushes that wake the app of a device. Source: Apple's "Pushing background updates to
  /// your app".
  public static let wakePause = Duration.seconds(20 * 60)

  /// Decides the next step for one notification, after its message, its call or its recipient has changed.
  ///
  /// The first branch that matches decides: a removal by the rules, a newer notification in its place, a deletion, the
  /// end of a call, an edit.
  public static func plan(_ entry: PhoneEntry) -> EntryPlan {
    if entry.later == .remove { return entry.removal }
    // The phone shows a newer notification in place of this one, so there is nothing to change.
    if entry.isReplaced { return .nothing }
    let isShown = entry.state == .shown || entry.state == .concluded
    // If the rules allow text, the phone shows "Message deleted". Otherwise the notification is removed.
    if entry.isDeleted { return entry.later == .show && isShown ? .replace(.deleted) : entry.removal }
    if let end = entry.callEnd { return plan(entry, after: end) }
    guard entry.state == .shown else { return .nothing }
    return entry.text(.current)
  }

  private static func plan(_ entry: PhoneEntry, after end: CallEnd) -> EntryPlan {
    switch end {
    case .missed:
      // A missed call is a new notification, also on a phone that never got the call or had a call screen.
      return entry.state == .shown || entry.state == .unsent ? entry.callEnd(.missed) : .nothing
    case .answered(let isHere), .declined(let isHere):
      // After a call screen, the phone has no alert to change.
      guard entry.state == .shown, !entry.rings else { return .nothing }
      if isHere { return .remove }
      return entry.callEnd(end == .answered(isHere: false) ? .answered : .declined)
    }
  }

  /// Decides the next push that shows nothing to a device: its badge, its removals, or both.
  /// - Returns: The push that is due now, and the time of the next one. Each is `nil` when there is none.
  public static func plan(_ phone: PhoneState, now: Timestamp) -> (update: PhoneUpdate?, next: Timestamp?) {
    let wake = wakeTime(after: phone.woken, now: now)
    let badgeTime = time(after: phone.badged, badgePause, now: now)
    let badge = phone.needsBadge ? phone.wantedBadge : nil
    let hasRemovals = phone.hasRemovals && phone.platform.removesSilently
    if hasRemovals, wake <= now { return (PhoneUpdate(badge: badge, removes: true), nil) }
    let next = hasRemovals ? wake : nil
    guard let badge else { return (nil, next) }
    guard badgeTime <= now else { return (nil, min(badgeTime, next ?? badgeTime)) }
    return (PhoneUpdate(badge: badge, removes: false), next)
  }

  /// The time from which a push may wake the app.
  /// - Parameter woken: The time of the newest push that woke it.
  public static func wakeTime(after woken: Timestamp?, now: Timestamp) -> Timestamp {
    time(after: woken, wakePause, now: now)
  }

  /// The end of a pause after a push.
  ///
  /// A push that is less far ahead than the pause counts as sent now. One that is further ahead is ignored: the wall
  /// clock was set back while the relay was stopped, and otherwise no push would be sent until the clock reaches that
  /// time.
  private static func time(after push: Timestamp?, _ pause: Duration, now: Timestamp) -> Timestamp {
    guard let push, push <= now + pause else { return now }
    return min(push, now) + pause
  }

  /// The time until which the service may keep a push that changes or removes notifications. Is `nil` if the service
  /// tries it once.
  ///
  /// Apple keeps one notification for a device that is off. A change of an older notification must not take the place
  /// of the newest one. A change of the newest one takes only its own place, so it is kept as long. Other services keep
  /// every push.
  /// - Parameters:
  ///   - newest: The end of the newest alert on the device. Is `nil` if there is none.
  ///   - isNewest: True if the push changes or removes the newest alert.
  ///   - end: The time after which the change has no use.
  public static func keptUntil(
    newest: Timestamp?, isNewest: Bool, end: Timestamp, on platform: Platform
  ) -> Timestamp? {
    guard platform.keepsOneNotification else { return end }
    return isNewest ? newest : nil
  }
}

/// The badge and the open removals of one device.
public struct PhoneState: Equatable, Sendable {
  public var platform: Platform
  /// False if the device has reported that alerts are off for the app.
  public var allowsAlerts: Bool
  /// The badge that the phone shows. Is `nil` when it is unknown.
  public var badge: Int?
  public var wantedBadge: Int
  /// True if a removal is due.
  public var hasRemovals: Bool
  /// The time of the newest push that only set the badge.
  public var badged: Timestamp?
  /// The time of the newest push that woke the app.
  public var woken: Timestamp?

  public init(
    platform: Platform, allowsAlerts: Bool = true, badge: Int? = nil, wantedBadge: Int,
    hasRemovals: Bool = false, badged: Timestamp? = nil, woken: Timestamp? = nil
  ) {
    self.platform = platform
    self.allowsAlerts = allowsAlerts
    self.badge = badge
    self.wantedBadge = wantedBadge
    self.hasRemovals = hasRemovals
    self.badged = badged
    self.woken = woken
  }
}

extension PhoneState {
  /// True if a push must set the badge now. Each alert sets the badge anyway, so this is only true in these cases:
  /// - The wanted badge is lower than the badge on the phone.
  /// - The badge on the phone is unknown, and a push with removals is due.
  /// - The device gets no alerts, and the badge on the phone is unknown or differs.
  fileprivate var needsBadge: Bool {
    guard platform.setsBadge else { return false }
    return allowsAlerts ? badge.map { wantedBadge < $0 } ?? hasRemovals : badge != wantedBadge
  }
}

/// A push that shows no notification.
public struct PhoneUpdate: Equatable, Sendable {
  /// Is `nil` if the badge stays the same.
  public var badge: Int?
  /// True if the push wakes the app to remove notifications.
  public var removes: Bool
}

extension PhoneEntry {
  /// Removes a notification that the phone may still show. Also removes a deleted one that the person has dismissed,
  /// because the phone may have kept it.
  fileprivate var removal: EntryPlan {
    switch state {
    case .shown, .concluded: .remove
    case .ended: isDeleted ? .remove : .nothing
    default: .nothing
    }
  }

  fileprivate func text(_ text: EntryText) -> EntryPlan {
    switch later {
    case .show: .replace(text)
    case .wait(let end): .wait(until: end)
    case .nothing, .remove: .nothing
    }
  }

  /// The end of a call makes no sound. A phone that shows the call must not show it until the end of a silence.
  fileprivate func callEnd(_ text: EntryText) -> EntryPlan {
    if state == .shown, case .wait = later { return .replace(text) }
    return self.text(text)
  }
}

extension Platform {
  /// True if a push may set the badge and show nothing.
  var setsBadge: Bool { self != .webpush }

  /// True if a push may remove notifications and show nothing. Browsers require that each push shows a notification.
  var removesSilently: Bool { self != .webpush }

  /// True if the service keeps only the newest push for a device that is off. The simulated service does as Apple's.
  var keepsOneNotification: Bool {
    switch self {
    case .apns, .simulator: true
    case .webpush, .http: false
    }
  }
}
