// SPDX-License-Identifier: Apache-2.0

/// The use of the relay and the generator at a point in time.
struct Use {
  let time: ContinuousClock.Instant
  /// Is `nil` if the relay's process is unknown or cannot be read.
  let server: ServerUse?
  let own: Double

  /// Measures the present use.
  init(of pid: Int32?) {
    (time, server, own) = (.now, pid.flatMap { ServerUse(of: $0) }, ServerUse.own)
  }
}

extension BenchReport {
  /// Adds the relay's use between two points in time, in all and for each of `each.count` events.
  mutating func addServerUse(
    from: Use, to: Use, each: (key: String, label: String, count: UInt64)?, key: String = "relay",
    title: String = "relay"
  ) {
    guard let before = from.server, let after = to.server else { return }
    let spent = after.processor - before.processor
    var figures: [Figure] = [.init("processor", "processor", .share(spent / (to.time - from.time).seconds))]
    if let each, each.count > 0 { figures.append(.init(each.key, each.label, .seconds(spent / Double(each.count)))) }
    figures.append(.init("memory", "memory", .bytes(after.memory)))
    add(key, title, figures)
  }

  /// Adds the relay's writes for each of `count` events between two points in time.
  mutating func addWrites(
    from: Use, to: Use, of count: UInt64, key: String = "writes", title: String = "  writes each"
  ) {
    guard let before = from.server?.writes, let after = to.server?.writes, count > 0 else { return }
    func each(_ value: KeyPath<ServerUse.Writes, Double>) -> Double {
      (after[keyPath: value] - before[keyPath: value]) / Double(count)
    }
    add(
      key, title,
      [
        .init("calls", "calls", .ratio(each(\.calls))), .init("bytes", "bytes", .bytes(each(\.bytes))),
        .init("disk", "to disk", .bytes(each(\.diskBytes))),
      ])
  }

  /// Adds the use of the generator.
  mutating func addOwnUse(from: Use, to: Use) {
    if from.server == nil || to.server == nil {
      notes.append("the relay's process is unknown; on its machine, pass --pid")
    }
    let share = (to.own - from.own) / (to.time - from.time).seconds
    add("generator", "generator", [.init("processor", "processor", .share(share))])
    if share > 0.95 { notes.append("the generator used a whole processor: the relay may be faster") }
  }

  /// Adds the use of the relay and the generator.
  mutating func addUse(from: Use, to: Use, each: (key: String, label: String, count: UInt64)?) {
    addServerUse(from: from, to: to, each: each)
    addOwnUse(from: from, to: to)
  }
}
