// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayJSON
import RelayProtocol

/// The report of a load: a table for people, or JSON.
struct BenchReport {
  enum Value {
    case count(UInt64)
    /// A number per second.
    case rate(Double)
    case seconds(Double)
    case bytes(Double)
    /// A share of one processor.
    case share(Double)
    case ratio(Double)
  }

  struct Figure {
    let key: String
    let label: String
    let value: Value

    init(_ key: String, _ label: String, _ value: Value) {
      self.key = key
      self.label = label
      self.value = value
    }
  }

  struct Group {
    let key: String
    let title: String
    var figures: [Figure]
  }

  let load: String
  let server: String
  /// The load in words, for the table. The group `options` has it for programs.
  let shape: String
  var groups: [Group] = []
  var notes: [String] = []
  var problems: [(text: String, times: UInt64)] = []
  /// The counts of events that are faults of the relay.
  var faults: [Figure] = []

  init(load: String, server: String, shape: String) {
    self.load = load
    self.server = server
    self.shape = shape
  }

  mutating func add(_ key: String, _ title: String, _ figures: [Figure]) {
    groups.append(Group(key: key, title: title, figures: figures))
  }

  mutating func add(_ key: String, _ title: String, _ quantiles: Quantiles) {
    guard quantiles.count > 0 else { return }
    add(
      key, title,
      [
        Figure("p50", "p50", .seconds(quantiles.p50)), Figure("p90", "p90", .seconds(quantiles.p90)),
        Figure("p99", "p99", .seconds(quantiles.p99)), Figure("p999", "p99.9", .seconds(quantiles.p999)),
        Figure("largest", "largest", .seconds(quantiles.largest)),
      ])
  }

  /// Adds a note if an open loop could not keep its rate: messages that were not sent have no latency.
  mutating func note(_ published: Double, of rate: Double?) {
    guard let rate, published < 0.97 * rate else { return }
    notes.append("published less than --rate: the relay did not accept more, and unsent messages have no latency")
  }

  var isClean: Bool {
    faults.allSatisfy { if case .count(0) = $0.value { true } else { false } }
  }

  var json: String {
    let bytes = JSONWriter.object {
      $0["load"] = load
      $0["server"] = server
      for group in groups {
        $0.object(group.key) { object in group.figures.forEach { $0.write(to: &object) } }
      }
      $0.object("faults") { object in faults.forEach { $0.write(to: &object) } }
      $0.array("problems") { list in
        for problem in problems {
          list.object {
            $0["text"] = problem.text
            $0.integer("times", problem.times)
          }
        }
      }
      $0.array("notes") { list in notes.forEach { list.string($0) } }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  var table: String {
    var lines = ["\(load) on \(server): \(shape)", ""]
    for group in groups where group.key != "options" {
      let figures = group.figures.map { "\($0.label) \($0.text)" }
      lines.append(
        "  " + group.title.padding(toLength: 14, withPad: " ", startingAt: 0) + figures.joined(separator: " · "))
    }
    let found = faults.filter { if case .count(0) = $0.value { false } else { true } }
    lines.append(
      "  " + "faults".padding(toLength: 14, withPad: " ", startingAt: 0)
        + (found.isEmpty ? "none" : found.map { "\($0.label) \($0.text)" }.joined(separator: " · ")))
    for problem in problems {
      lines.append("  \(BenchReport.Figure.number(Int(problem.times), "time")): \(problem.text)")
    }
    for note in notes { lines.append("  Note: \(note)") }
    return lines.joined(separator: "\n")
  }
}

extension BenchReport.Figure {
  fileprivate func write(to object: inout JSONWriter.Object) {
    switch value {
    case .count(let count): object.integer(key, count)
    case .rate(let number), .seconds(let number), .bytes(let number), .share(let number), .ratio(let number):
      object.decimal(key, number.isFinite ? number : nil)
    }
  }

  fileprivate var text: String {
    switch value {
    case .count(let count): Self.grouped(Double(count), 0)
    case .rate(let rate): Self.grouped(rate, rate < 100 ? 1 : 0) + "/s"
    case .share(let share): Self.grouped(share * 100, share < 0.1 ? 2 : 1) + " %"
    case .ratio(let ratio): Self.grouped(ratio, 2)
    case .bytes(let bytes):
      Self.scaled(bytes, [(1024 * 1024 * 1024, "GiB"), (1024 * 1024, "MiB"), (1024, "KiB"), (1, "B")])
    case .seconds(let seconds): Self.scaled(seconds, [(1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")])
    }
  }

  /// Formats a value with three digits, in the largest unit in which it is at least 1.
  private static func scaled(_ value: Double, _ units: [(size: Double, name: String)]) -> String {
    let unit = units.first { abs(value) >= $0.size } ?? units[units.count - 1]
    let number = value / unit.size
    return grouped(number, abs(number) < 10 ? 2 : abs(number) < 100 ? 1 : 0) + " " + unit.name
  }

  /// Formats a number with a noun, such as "1 room" and "1,000 rooms".
  static func number(_ count: Int, _ noun: String) -> String {
    grouped(Double(count), 0) + " " + noun + (count == 1 ? "" : "s")
  }

  /// Formats a number with commas between thousands in every locale, so that figures of two machines look the same.
  static func grouped(_ value: Double, _ decimals: Int) -> String {
    let text = String(format: "%.\(decimals)f", value)
    let whole = text.prefix { $0.isNumber || $0 == "-" }
    var result = ""
    for (index, digit) in whole.enumerated() {
      let left = whole.count - index
      if index > 0, left % 3 == 0, result != "-" { result.append(",") }
      result.append(digit)
    }
    return result + text.dropFirst(whole.count)
  }
}
