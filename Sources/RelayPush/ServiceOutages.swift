// SPDX-License-Identifier: Apache-2.0
import Logging
package import RelayGateways
package import RelayProtocol
import RelayStore

/// A push service that has failed since its last answer.
package struct ServiceOutage: Equatable, Sendable {
  package let platform: Platform
  /// The app whose pushes wait. Is `nil` for devices without one.
  package let app: String?
  /// The origin of a browser's push service. Is `nil` for other services.
  package let origin: String?
  package let reason: GatewayReason
  /// The cause in words, for an operator. Is `nil` if the reason says all that is known.
  package let cause: String?
  /// The first failure, on the wall clock.
  package let since: Timestamp

  package init(of device: Device, _ reason: GatewayReason, cause: String?, since: Timestamp) {
    (platform, app, self.reason, self.cause, self.since) = (device.platform, device.app, reason, cause, since)
    origin = device.platform == .webpush ? Self.origin(of: device.token) : nil
  }

  /// - Parameter token: A subscription, which begins with its endpoint.
  private static func origin(of token: String) -> String {
    token.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).prefix(3).joined(separator: "/")
  }

  var metadata: Logger.Metadata {
    var metadata: Logger.Metadata = ["platform": "\(platform.rawValue)", "reason": "\(reason.rawValue)"]
    metadata["app"] = app.map { "\($0)" }
    metadata["origin"] = origin.map { "\($0)" }
    metadata["cause"] = cause.map { "\($0)" }
    return metadata
  }
}

/// Decides from the outcomes of pushes which push services fail. Pure.
///
/// A service fails from the first push that it did not answer, or answered with an error of its own, to the next answer
/// to a push, which may be a refusal. The number of lanes bounds the list.
struct ServiceOutages {
  /// The least time between two warnings about a service that fails again and again.
  static let pause = Duration.seconds(60)
  /// The least time from an attempt to a probe: a push that waits for its next attempt is then sent at once, because
  /// something new is due.
  static let probePause = Duration.seconds(5)

  enum Event: Equatable {
    case begins(ServiceOutage)
    case ends(ServiceOutage)
  }

  private struct Entry {
    /// Is `nil` while the service works.
    var outage: ServiceOutage?
    /// The time of the last failure or probe.
    var tried: ContinuousClock.Instant?
    /// True if the outage was announced.
    var isAnnounced = false
    /// The time of the last announcement.
    var announced: ContinuousClock.Instant?
  }

  private var entries: [Lane: Entry] = [:]

  /// The services that fail, by the time of their first failure.
  var all: [ServiceOutage] { entries.values.compactMap(\.outage).sorted { $0.since < $1.since } }

  /// Records the outcome of a push.
  /// - Parameters:
  ///   - cause: The words about the last attempt.
  ///   - time: The wall clock.
  ///   - now: The clock of pauses.
  /// - Returns: The event to announce, if there is one, and true if an outage has ended, announced or not. The first
  ///   answer of a service counts as such an end, because the outage may have begun in an earlier run.
  mutating func observe(
    _ outcome: PushOutcome, cause: String?, of device: Device, at time: Timestamp, _ now: ContinuousClock.Instant
  ) -> (event: Event?, hasEnded: Bool) {
    // A simulated phone that is switched off is no failure of a service.
    guard device.platform != .simulator, let answers = outcome.showsAnswer else { return (nil, false) }
    let lane = Lane(of: device)
    if answers, let entry = entries[lane], entry.outage == nil { return (nil, false) }
    var entry = entries[lane, default: Entry()]
    defer { entries[lane] = entry }
    if answers {
      let ended = entry.isAnnounced ? entry.outage : nil
      (entry.outage, entry.isAnnounced) = (nil, false)
      return (ended.map(Event.ends), true)
    }
    entry.tried = now
    let outage = entry.outage ?? ServiceOutage(of: device, outcome.reason ?? .other, cause: cause, since: time)
    entry.outage = outage
    guard !entry.isAnnounced, entry.announced.map({ now - $0 >= Self.pause }) ?? true else { return (nil, false) }
    (entry.isAnnounced, entry.announced) = (true, now)
    return (.begins(outage), false)
  }

  /// The lanes of failing services to which one waiting push must be sent now. Call it when new pushes may be due.
  mutating func probes(at now: ContinuousClock.Instant) -> [Lane] {
    let lanes = entries.compactMap { lane, entry in
      entry.outage != nil && entry.tried.map { now - $0 >= Self.probePause } ?? true ? lane : nil
    }
    for lane in lanes { entries[lane]?.tried = now }
    return lanes
  }
}

extension PushOutcome {
  /// True if the service works: it has answered this push. False if it fails. Is `nil` if the outcome does not show it.
  fileprivate var showsAnswer: Bool? {
    switch self {
    case .sent, .tooLarge, .forgetDevice: true
    // The relay itself ends such pushes, too.
    case .paused, .dead: nil
    case .retry(_, let reason, _): reason.isOutage ? false : nil
    }
  }
}
