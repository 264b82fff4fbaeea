// SPDX-License-Identifier: Apache-2.0

/// The time at which the client requests a newer token from the app. The relay states the expiry of the session's token
/// by its own clock, and this type converts it.
struct Renewal: Equatable {
  /// The relay's time at the start of the client's clock, in milliseconds since 1970.
  private let start: Int64
  private var expires: Int64
  private(set) var due: Duration?
  /// The time of the request to the app. It can be later than `due`, because a timer has a maximum.
  private var wanted = Duration.zero
  /// The expiry of the token.
  private var end = Duration.zero
  private var backoff = Backoff()

  /// The client requests the newer token this long before expiry, or after half the remaining time if that is later.
  static let lead = Duration.seconds(30)
  /// The minimum delay of a request, whatever expiry the relay states.
  static let minDelay = Duration.seconds(1)
  /// The maximum delay of one timer, because some timers support no more. A longer wait takes several timers.
  static let maxDelay = Duration.seconds(24 * 86_400)

  /// Returns `nil` if the session does not expire with a token.
  init?(_ welcome: Frame, at now: Duration) {
    guard let time = welcome.members.time("time")?.rawValue, welcome["expires"]?.integer != nil else { return nil }
    start = time - Int64(now / .milliseconds(1))
    expires = time
    renewed(until: welcome["expires"]?.integer, at: now)
  }

  /// Schedules the next request after a token was accepted.
  /// - Parameter time: The expiry of the newer token. Is ignored if it is not later than that of the last token.
  mutating func renewed(until time: Int64?, at now: Duration) {
    guard let time, time > expires else { return }
    expires = time
    end = Duration.milliseconds(time - start)
    backoff.succeeded()
    guard end > now else { return }
    schedule(after: max(end - now - Self.lead, (end - now) / 2), at: now)
  }

  /// Schedules another request after a failure, if the token has not expired by then.
  mutating func failed(at now: Duration, retryAfter: Duration, random: Double) {
    let delay = max(backoff.failed(random: random, retryAfter: retryAfter), Self.minDelay)
    if now + delay < end { schedule(after: delay, at: now) }
  }

  private mutating func schedule(after delay: Duration, at now: Duration) {
    wanted = now + max(delay, Self.minDelay)
    due = min(wanted, now + Self.maxDelay)
  }

  /// Returns true if the client must request a newer token now.
  mutating func timePassed(at now: Duration) -> Bool {
    guard let due, due <= now else { return false }
    self.due = wanted > now ? min(wanted, now + Self.maxDelay) : nil
    return self.due == nil
  }
}
