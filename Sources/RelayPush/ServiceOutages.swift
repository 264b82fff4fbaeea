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
  /// Is `nil` unless the device has registered one.
  package let environment: PushEnvironment?
  /// The origin of a browser's push service. Is `nil` for other services.
  package let origin: String?
  package let reason: GatewayReason
  /// The cause in words, for an operator. Is `nil` if the reason says all that is known.
  package let cause: String?
  /// The first failure, on the wall clock.
  package let since: Timestamp

  package init(of device: Device, _ reason: GatewayReason, cause: String?, since: Timestamp) {
    (platform, app, environment) = (device.platform, device.app, device.environment)
    (self.reason, self.cause, self.since) = (reason, cause, since)
    origin = device.origin
  }

  var metadata: Logger.Metadata {
    var metadata: Logger.Metadata = ["platform": "\(platform.rawValue)", "reason": "\(reason.rawValue)"]
    metadata["app"] = app.map { "\($0)" }
    metadata["environment"] = environment.map { "\($0.rawValue)" }
    metadata["origin"] = origin.map { "\($0)" }
    metadata["cause"] = cause.map { "\($0)" }
    return metadata
  }
}

extension Device {
  /// The origin of a browser's push service: its subscription begins with the endpoint.
  fileprivate var origin: String? {
    guard platform == .webpush else { return nil }
    return token.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).prefix(3).joined(separator: "/")
  }
}

/// Decides from the attempts at pushes which push services fail. Pure.
///
/// A service fails from the first push that it did not answer, or answered with an error of its own, to the next answer
/// of another kind. Clients choose the push services of browsers. Such a service counts only after it has answered in
/// this run, so that nobody can invent one that fails.
struct ServiceOutages {
  /// The least time between two warnings about a service that fails again and again, and between two ends after which
  /// its waiting pushes are sent at once.
  static let pause = Duration.seconds(60)
  /// The least time from a failure to a probe: a push that waits for its next attempt is then sent at once, because
  /// something new is due.
  static let probePause = Duration.seconds(5)
  /// The time after its last failure for which a service counts as failing. Longer than the longest delay of a retry, so
  /// that only a service to which no push waits is forgotten.
  static let memory = Duration.seconds(20 * 60)
  /// The maximum number of services that are observed in a run. Further ones do not count.
  static let maxServices = 512

  enum Event: Equatable {
    case begins(ServiceOutage)
    case ends(ServiceOutage)
  }

  /// The last attempt at a push, as far as it shows whether the service works.
  enum Sign: Equatable {
    case works
    case fails(GatewayReason, cause: String?)

    /// - Parameter status: The HTTP status of the last attempt. Is `nil` without an answer.
    init?(_ outcome: PushOutcome, status: Int?, cause: String?) {
      switch outcome {
      case .sent: self = .works
      case .retry(_, let reason, _) where reason.isOutage: self = .fails(reason, cause: cause)
      default:
        guard let status, status < 500 else { return nil }
        self = .works
      }
    }
  }

  private struct Service: Hashable {
    let lane: Lane
    /// A lane may have the browsers' push services of several origins.
    let origin: String?
  }

  private struct Entry {
    /// Is `nil` while the service works.
    var outage: ServiceOutage?
    var failed: ContinuousClock.Instant?
    var probed: ContinuousClock.Instant?
    /// True if the outage was announced.
    var isAnnounced = false
    var warning = LogPause(ServiceOutages.pause)
    /// The time of the last end after which the waiting pushes were sent.
    var retried: ContinuousClock.Instant?

    func isFailing(at now: ContinuousClock.Instant) -> Bool {
      outage != nil && failed.map { now - $0 <= ServiceOutages.memory } ?? false
    }
  }

  private var entries: [Service: Entry] = [:]

  /// The services that fail, by the time of their first failure.
  func current(at now: ContinuousClock.Instant) -> [ServiceOutage] {
    entries.values.filter { $0.isFailing(at: now) }.compactMap(\.outage).sorted { $0.since < $1.since }
  }

  /// Records an attempt.
  /// - Parameters:
  ///   - time: The wall clock.
  ///   - now: The clock of pauses.
  /// - Returns: The event to announce, if there is one. `retries`: true if the pushes of the lane that wait for a retry
  ///   must be sent now. This is so at the end of an outage, and at the first answer in a run, because an outage may have
  ///   begun in an earlier run.
  mutating func observe(
    _ sign: Sign, of device: Device, at time: Timestamp, _ now: ContinuousClock.Instant
  ) -> (event: Event?, retries: Bool) {
    // A simulated phone that is switched off is no failure of a service.
    guard device.platform != .simulator else { return (nil, false) }
    let service = Service(lane: Lane(of: device), origin: device.origin)
    let known = entries[service]
    let mayAdd = entries.count < Self.maxServices
    var entry = known ?? Entry()
    switch sign {
    case .works:
      guard known?.outage != nil || known == nil && mayAdd else { return (nil, false) }
      let ended = entry.isAnnounced ? entry.outage : nil
      (entry.outage, entry.isAnnounced) = (nil, false)
      let retries = entry.retried.map { now - $0 >= Self.pause } ?? true
      if retries { entry.retried = now }
      entries[service] = entry
      return (ended.map(Event.ends), retries)
    case .fails(let reason, let cause):
      guard known != nil || device.platform != .webpush && mayAdd else { return (nil, false) }
      if !entry.isFailing(at: now) {
        entry.outage = ServiceOutage(of: device, reason, cause: cause, since: time)
        entry.isAnnounced = false
      }
      entry.failed = now
      let isNew = !entry.isAnnounced && entry.warning.isOver(now: now)
      if isNew { entry.isAnnounced = true }
      entries[service] = entry
      return (isNew ? entry.outage.map(Event.begins) : nil, false)
    }
  }

  /// The lanes of failing services to which one waiting push must be sent now. Call it when new pushes may be due.
  mutating func probes(at now: ContinuousClock.Instant) -> Set<Lane> {
    var lanes: Set<Lane> = []
    for (service, entry) in entries where entry.isFailing(at: now) {
      let last = [entry.failed, entry.probed].compactMap { $0 }.max()
      guard last.map({ now - $0 >= Self.probePause }) ?? true else { continue }
      entries[service]?.probed = now
      lanes.insert(service.lane)
    }
    return lanes
  }
}
