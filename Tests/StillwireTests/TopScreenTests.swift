// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import stillwire

/// The screen of `stillwire top`.
@Suite struct TopScreenTests {
  private static func figures(_ seconds: Double, _ metrics: String, _ rooms: [(String, Int64)] = []) -> TopFigures {
    TopFigures(
      time: .seconds(seconds), date: 100, metrics: metrics,
      rooms: rooms.map { TopFigures.Room(room: $0, seq: $1, members: 2, sessions: 1) })
  }

  private func screen(_ before: TopFigures, _ now: TopFigures) -> [String] {
    TopScreen(before: before, now: now).lines(url: "http://relay")
  }

  /// The value behind a name on the screen.
  private func value(_ name: String, _ lines: [String]) -> String? {
    lines.lazy.compactMap { line in
      line.range(of: name).map { line[$0.upperBound...].drop { $0 == " " }.prefix { $0 != " " } }
    }.first.map(String.init)
  }

  @Test func `rates are differences of counters in a second, and gauges are values`() {
    let before = Self.figures(
      1,
      """
      # HELP stillwire_messages_total Messages.
      stillwire_messages_total{kept="true"} 10
      stillwire_messages_total{kept="false"} 5
      stillwire_store_commit_seconds_sum 1.0
      stillwire_store_commit_seconds_count 10
      """)
    let now = Self.figures(
      3,
      """
      stillwire_messages_total{kept="true"} 30
      stillwire_messages_total{kept="false"} 6
      stillwire_sessions 17
      stillwire_push_jobs{state="ready"} 2
      stillwire_push_jobs{state="sending"} 1
      stillwire_push_jobs{state="retrying"} 4
      stillwire_store_commit_seconds_sum 1.1
      stillwire_store_commit_seconds_count 60
      stillwire_store_available 1
      process_start_time_seconds 58
      """)
    let lines = screen(before, now)
    #expect(lines[0] == "stillwire top  http://relay  up 42 s")
    for (name, expected) in [
      ("messages/s", "10.5"), ("sessions", "17"), ("ready", "3"), ("retrying", "4"), ("commit ms", "2.0"),
      ("store", "available"), ("errors/s", "0.0"),
    ] {
      #expect(value(name, lines) == expected, "\(name)")
    }
  }

  @Test func `a counter that begins again after a restart has no rate`() {
    let lines = screen(
      Self.figures(1, "stillwire_signals_total 1\nstillwire_deliveries_total 900"), Self.figures(2, ""))
    #expect(value("deliveries/s", lines) == "0.0" && value("store", lines) == "UNAVAILABLE")
    #expect(value("commit ms", lines) == "-")
  }

  @Test func `the rooms with the most messages come first, and new rooms have no rate`() {
    let before = Self.figures(1, "", [("slow", 5), ("busy", 10), ("gone", 1)])
    let now = Self.figures(2, "", [("new", 100), ("slow", 6), ("busy", 40)])
    let rooms = screen(before, now).drop { !$0.hasPrefix("ROOM") }
    #expect(
      rooms.map { $0.split(separator: " ").prefix(3).joined(separator: " ") } == [
        "ROOM MESSAGES/S SEQ", "busy 30.0 40", "slow 1.0 6", "new 0.0 100",
      ])
  }

  @Test(arguments: [(1, 5), (3, 80), (9, 20), (0, 0)]) func `the screen fits the terminal`(height: Int, width: Int) {
    let figures = Self.figures(1, "", (0..<50).map { ("room\($0)", 1) })
    let lines = TopScreen(before: figures, now: figures).lines(url: "u", height: height, width: width)
    #expect(lines.count == height && lines.allSatisfy { $0.count <= width })
  }
}
