// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOHPACK
import RelayProtocol
import Synchronization

extension AppleSimulator {
  /// The state of one event loop: its connections, and the requests that arrived on them.
  ///
  /// `@unchecked Sendable`: all members except `eventLoop` are used on that event loop only. Other threads call
  /// `eventLoop.submit`.
  final class Loop: @unchecked Sendable {
    /// A stored arrival. Its headers are converted only when a caller requests them.
    private struct KeptArrival {
      var arrival: Arrival
      var headers: HPACKHeaders
    }

    let eventLoop: any EventLoop
    let service: Service
    let idleTime: TimeAmount
    private(set) var connections: [Int: Connection] = [:]
    private(set) var settings: Settings
    private var generation: Int
    private var counts = Counts()
    private var kept: Ring<KeptArrival>
    private let maxArrivals: Int
    private var dice = Dice(seed: .random(in: .min ... .max))

    init(_ eventLoop: any EventLoop, service: Service, maxArrivals: Int, idleTime: TimeAmount) {
      self.eventLoop = eventLoop
      self.service = service
      self.idleTime = idleTime
      self.maxArrivals = maxArrivals
      generation = service.generation.load(ordering: .acquiring)
      settings = service.currentSettings
      kept = Ring(capacity: maxArrivals)
    }

    func add(_ connection: Connection) {
      eventLoop.preconditionInEventLoop()
      connections[connection.number] = connection
      counts.connections += 1
    }

    func remove(_ connection: Connection) {
      eventLoop.preconditionInEventLoop()
      connections[connection.number] = nil
    }

    func refreshSettings() {
      eventLoop.preconditionInEventLoop()
      let current = service.generation.load(ordering: .acquiring)
      guard current != generation else { return }
      generation = current
      settings = service.currentSettings
      for connection in connections.values { connection.settingsChanged() }
    }

    func newID() -> String { makeUUID(using: &dice) }

    func latency() -> TimeAmount {
      let range = settings.latency
      guard range.upperBound > .zero else { return .zero }
      let (min, max) = (range.lowerBound.nanoseconds, range.upperBound.nanoseconds)
      return .nanoseconds(Int64.random(in: min...max, using: &dice))
    }

    func note(
      _ decision: Decision, of head: Head, headers: HPACKHeaders, payload: [UInt8], connection: Int, stream: Int,
      verifications: Int, now: Timestamp
    ) {
      counts.requests += 1
      counts.verifications += verifications
      counts.outcomes[decision.outcome.name, default: 0] += 1
      if case .refused(let refusal) = decision.outcome { counts.refusals[refusal.reason, default: 0] += 1 }
      let arrival = Arrival(
        number: service.nextArrival(), time: now, connection: connection, stream: stream, method: head.method,
        path: head.path, headers: [], keyID: decision.keyID, id: decision.id, payload: payload,
        outcome: decision.outcome)
      kept.append(KeptArrival(arrival: arrival, headers: headers))
    }

    var currentCounts: Counts {
      var counts = counts
      counts.openConnections = connections.count
      return counts
    }

    /// Returns the arrivals after a number, oldest first.
    func arrivals(after number: UInt64) -> [Arrival] {
      kept.inOrder.filter { $0.arrival.number > number }.map { kept in
        var arrival = kept.arrival
        arrival.headers = kept.headers.compactMap { name, value, _ in
          name.hasPrefix(":") || name == "authorization" ? nil : (name, value)
        }
        return arrival
      }
    }

    func reset() {
      eventLoop.preconditionInEventLoop()
      counts = Counts()
      kept = Ring(capacity: maxArrivals)
    }
  }
}

extension Duration {
  /// The duration in nanoseconds, limited to half of the 64-bit range.
  var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return isTooLong ? .max / 2 : product + attoseconds / 1_000_000_000
  }
}
