// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The figures of a relay at one moment, for `stillwire top`. Pure.
struct TopFigures: Equatable {
  /// The time on a clock that nobody can set.
  var time: Duration
  /// Seconds since 1970.
  var date: Double
  /// The samples of `/metrics`, by their names with labels.
  var metrics: [String: Double]
  /// The rooms with the newest messages.
  var rooms: [Room]

  struct Room: Equatable, Decodable {
    var room: String
    var seq: Int64
    var members: Int
    var sessions: Int
  }

  /// - Parameter text: The text of `/metrics`.
  init(time: Duration, date: Double, metrics text: String, rooms: [Room]) {
    self.time = time
    self.date = date
    self.rooms = rooms
    metrics = [:]
    for line in text.split(separator: "\n") where line.first != "#" {
      // Labels of these metrics have no spaces.
      let parts = line.split(separator: " ")
      if parts.count == 2, let value = Double(parts[1]) { metrics[String(parts[0])] = value }
    }
  }

  /// A sample. Is 0 if the relay has none.
  subscript(_ name: String) -> Double { metrics["stillwire_\(name)"] ?? 0 }

  /// The sum of all samples of a metric.
  func sum(_ name: String) -> Double {
    metrics.reduce(0) { $0 + ($1.key.hasPrefix("stillwire_\(name){") ? $1.value : 0) } + self[name]
  }

  /// The number of push jobs in a state.
  func jobs(_ state: String) -> Int { Int(self["push_jobs{state=\"\(state)\"}"]) }
}

/// The screen of `stillwire top`. Pure.
struct TopScreen {
  let before: TopFigures
  let now: TopFigures

  /// The screen in lines.
  /// - Parameters:
  ///   - note: The second line, such as the reason why the figures are old.
  ///   - height: The maximum number of lines.
  ///   - width: The maximum number of characters of a line.
  func lines(url: String, note: String = "", height: Int = .max, width: Int = .max) -> [String] {
    let lines = ["stillwire top  \(url)  \(uptime)", note] + counts + [""] + rooms
    return lines.prefix(max(0, height)).map { String($0.prefix(max(0, width))) }
  }

  private var uptime: String {
    guard let start = now.metrics["process_start_time_seconds"] else { return "" }
    return "up \(max(0, Int(now.date - start))) s"
  }

  private var counts: [String] {
    let commits = now["store_commit_seconds_count"] - before["store_commit_seconds_count"]
    let committed = now["store_commit_seconds_sum"] - before["store_commit_seconds_sum"]
    let processor = 100 * rate(now.metrics["process_cpu_seconds_total"], before.metrics["process_cpu_seconds_total"])
    return [
      row(
        ("sessions", count("sessions")), ("users", count("users")), ("rooms", count("rooms")), ("seats", count("seats"))
      ),
      row(
        ("messages/s", perSecond("messages_total")), ("deliveries/s", perSecond("deliveries_total")),
        ("frames in/s", perSecond("frames_received_total")), ("errors/s", perSecond("errors_total"))),
      row(
        ("http/s", perSecond("http_responses_total")), ("sent KiB/s", decimal(rate("sent_bytes_total") / 1024)),
        ("commit ms", commits > 0 ? decimal(1000 * committed / commits) : "-"), ("processor %", decimal(processor))),
      row(
        ("pushes sent/s", decimal(rate("pushes_total{result=\"sent\"}"))),
        ("ready", "\(now.jobs("ready") + now.jobs("sending"))"),
        ("retrying", "\(now.jobs("retrying"))"), ("held", "\(now.jobs("held") + now.jobs("waiting"))")),
      row(
        ("oldest push s", count("push_job_oldest_age_seconds")),
        ("memory MiB", "\(Int((now.metrics["process_resident_memory_bytes"] ?? 0) / 1_048_576))"),
        ("store", now["store_available"] == 1 ? "available" : "UNAVAILABLE")),
    ]
  }

  private func row(_ cells: (name: String, value: String)...) -> String {
    cells.map { name, value in name.padded(to: 14) + value.padded(to: 12) }.joined().withoutSpacesAtEnd
  }

  /// The rooms with the most messages since the last screen. A room that was not in the last screen has no rate.
  private var rooms: [String] {
    let earlier = Dictionary(before.rooms.map { ($0.room, $0.seq) }) { first, _ in first }
    let rated = now.rooms.map { room in
      (room: room, rate: earlier[room.room].map { max(0, Double(room.seq - $0)) / seconds } ?? 0)
    }
    let busiest = rated.sorted { ($0.rate, $1.room.room) > ($1.rate, $0.room.room) }
    let table = TextTable(
      ["ROOM", "MESSAGES/S", "SEQ", "MEMBERS", "SESSIONS"],
      busiest.map { room, rate in
        [room.room, decimal(rate), "\(room.seq)", "\(room.members)", "\(room.sessions)"]
      })
    return table.text.split(separator: "\n").map(String.init)
  }

  private var seconds: Double { max(0.001, (now.time - before.time) / .seconds(1)) }

  private func rate(_ now: Double?, _ before: Double?) -> Double { max(0, (now ?? 0) - (before ?? 0)) / seconds }
  private func rate(_ name: String) -> Double { rate(now.sum(name), before.sum(name)) }
  private func perSecond(_ name: String) -> String { decimal(rate(name)) }
  private func count(_ name: String) -> String { "\(Int(now[name]))" }

  private func decimal(_ value: Double) -> String {
    String(format: value < 100 ? "%.1f" : "%.0f", value)
  }
}
