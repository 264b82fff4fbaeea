// SPDX-License-Identifier: Apache-2.0
// The functions with which tests and the control API change the simulator and read its records.
import NIOCore

extension AppleSimulator {
  public var settings: Settings { service.currentSettings }

  /// Changes the settings. When this returns, all connections have received the new limits.
  public func change(_ body: (inout Settings) -> Void) async {
    service.change(body)
    await onLoops { $0.refreshSettings() }
  }

  /// Replaces the scripted faults. The first fault that applies to a request is used.
  public func script(_ faults: [Fault]) { service.setFaults(Array(faults.prefix(FaultScript.maxFaults))) }

  /// The remaining faults of the script.
  public var faults: [Fault] { service.faults }

  /// Returns a device that a script has set.
  public func phone(_ token: String) -> Phone? { service.shelf.phone(token.lowercased()) }

  /// Sets a device. If it is on afterwards, its waiting notifications are shown.
  /// - Returns: False if a script has set 10,000 other devices already.
  @discardableResult
  public func changePhone(_ token: String, _ body: (inout Phone) -> Void) -> Bool {
    let now = service.now(settings)
    let isKept: Bool? = service.shelf.change(token.lowercased()) { phone in
      body(&phone)
      if phone.isOn { phone.turnOn(now: now) }
      return true
    }
    return isKept ?? false
  }

  /// Returns the stored arrivals after a number, oldest first.
  public func arrivals(after number: UInt64 = 0) async -> [Arrival] {
    await fromLoops { $0.arrivals(after: number) }.flatMap { $0 }.sorted { $0.number < $1.number }
  }

  public func counts() async -> Counts {
    await fromLoops(\.currentCounts).reduce(into: Counts()) { $0 += $1 }
  }

  /// Sends GOAWAY on connections. Each connection closes when its open requests are answered, except the newest
  /// `leaving`, which get no answer.
  /// - Parameter connection: The number of a connection. Is `nil` for all.
  public func goAway(_ reason: Reason = .shutdown, leaving: Int = 0, connection: Int? = nil) async {
    await onConnections(connection) { $0.goAway(reason, leaving: leaving) }
  }

  /// Ends connections without a GOAWAY.
  public func resetConnections(connection: Int? = nil) async {
    await onConnections(connection) { $0.abort() }
  }

  /// Removes all arrivals, counts, devices and faults. Settings and connections stay.
  public func reset() async {
    service.reset()
    await onLoops { $0.reset() }
  }

  private func onConnections(_ number: Int?, _ body: @escaping @Sendable (Connection) -> Void) async {
    await onLoops { loop in
      for connection in loop.connections.values where number == nil || connection.number == number { body(connection) }
    }
  }

  private func onLoops(_ body: @escaping @Sendable (Loop) -> Void) async {
    _ = await fromLoops { body($0) }
  }

  /// Returns the results of all loops, except those that have ended.
  private func fromLoops<T: Sendable>(_ body: @escaping @Sendable (Loop) -> T) async -> [T] {
    var results: [T] = []
    for loop in loops {
      if let result = try? await loop.eventLoop.submit({ body(loop) }).get() { results.append(result) }
    }
    return results
  }
}
