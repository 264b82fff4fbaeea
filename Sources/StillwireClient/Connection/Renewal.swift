// SPDX-License-Identifier: Apache-2.0

/// When the app is asked for a newer token, by the relay's clock: it says when the session's own expires.
struct Renewal: Equatable {
  /// Milliseconds since 1970, as the relay counts them, at our zero.
  private let start: Int64
  private var expires: Int64
  private(set) var due: Duration?
  /// When the app is to be asked, which may be beyond what a timer can wait.
  private var wanted = Duration.zero

  /// Before the token expires; half its life, where that is less.
  static let lead = Duration.seconds(30)
  /// Whatever the relay says.
  static let shortest = Duration.seconds(1)
  /// Not every timer goes further: what comes later takes several.
  static let longest = Duration.seconds(24 * 86_400)

  /// nil: the session does not end with a token.
  init?(_ welcome: Frame, at now: Duration) {
    guard let time = welcome.members.time("time")?.rawValue, welcome["expires"]?.integer != nil else { return nil }
    start = time - Int64(now / .milliseconds(1))
    expires = time
    renewed(until: welcome["expires"]?.integer, at: now)
  }

  /// - Parameter time: When the newer token expires. One that lives no longer than the last is no newer one.
  mutating func renewed(until time: Int64?, at now: Duration) {
    guard let time, time > expires else { return }
    expires = time
    let end = Duration.milliseconds(time - start)
    guard end > now else { return }
    let delay = max(end - now - Self.lead, (end - now) / 2)
    wanted = now + max(delay, Self.shortest)
    due = min(wanted, now + Self.longest)
  }

  /// Whether the app is to be asked.
  mutating func timePassed(at now: Duration) -> Bool {
    guard let due, due <= now else { return false }
    self.due = wanted > now ? min(wanted, now + Self.longest) : nil
    return self.due == nil
  }
}
