// SPDX-License-Identifier: Apache-2.0
import NIOCore

extension AppleSimulator {
  public var settings: Settings { service.currentSettings }

  /// Changes what is set; connections are told of what concerns them when this returns.
  public func change(_ body: (inout Settings) -> Void) async {
    service.change(body)
    await onLoops { $0.refreshSettings() }
  }

  /// What goes wrong from now on, instead of what was scripted before; the first that strikes counts.
  public func script(_ faults: [Fault]) { service.setFaults(Array(faults.prefix(FaultScript.mostFaults))) }

  /// What is left of the script.
  public var faults: [Fault] { service.faults }

  /// A device of which a script has spoken.
  public func phone(_ token: String) -> Phone? { service.shelf.phone(token.lowercased()) }

  /// Speaks of a device: what is stored for it is shown when it is on.
  /// - Returns: false when there are 10,000 others already.
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

  /// What arrived, oldest first, of what is still kept.
  public func arrivals(after number: UInt64 = 0) async -> [Arrival] {
    await fromLoops { $0.arrivals(after: number) }.flatMap { $0 }.sorted { $0.number < $1.number }
  }

  public func counts() async -> Counts {
    await fromLoops(\.currentCounts).reduce(into: Counts()) { $0 += $1 }
  }

  /// Tells connections that they end, leaves the newest `leaving` of each one's open requests without an answer, and
  /// closes when the others have theirs.
  /// - Parameter connection: The number of one; nil: all.
  public func goAway(_ reason: Reason = .shutdown, leaving: Int = 0, connection: Int? = nil) async {
    await onConnections(connection) { $0.goAway(reason, leaving: leaving) }
  }

  /// Ends connections without a word.
  public func resetConnections(connection: Int? = nil) async {
    await onConnections(connection) { $0.abort() }
  }

  /// Forgets what arrived, its counts, devices and faults; settings and connections stay.
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

  /// Nothing from a loop that has ended.
  private func fromLoops<Result: Sendable>(_ body: @escaping @Sendable (Loop) -> Result) async -> [Result] {
    var results: [Result] = []
    for loop in loops {
      if let result = try? await loop.eventLoop.submit({ body(loop) }).get() { results.append(result) }
    }
    return results
  }
}
