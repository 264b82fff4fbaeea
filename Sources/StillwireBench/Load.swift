// SPDX-License-Identifier: Apache-2.0
import CLoad
import Foundation

/// The sessions of a load. It wraps the load generator in C (`CLoad`). Use it on one thread at a time.
final class Load {
  private let load: OpaquePointer
  /// The number of added sessions.
  private(set) var sessions: UInt32 = 0

  /// The relay's process. Is `nil` if it is not known.
  let process: Int32?

  /// Connects once. Throws ``BenchError`` if no relay answers.
  init(_ relay: BenchRelay) throws {
    var why = [CChar](repeating: 0, count: 256)
    guard let load = load_create(relay.address, relay.port, &why, why.count) else {
      throw BenchError(text(why))
    }
    self.load = load
    process = relay.pid ?? (load_is_local(load) ? ServerUse.listener(on: relay.port) : nil)
  }

  deinit { load_destroy(load) }

  var counts: load_counts_t { load_counts(load) }
  var latency: Quantiles { Quantiles(load_latency(load)) }
  var eventLatency: Quantiles { Quantiles(load_event_latency(load)) }
  var opening: Quantiles { Quantiles(load_opening(load)) }

  func addRoom(_ name: String) -> UInt32 { load_room(load, name) }

  func addSession(hello: String, room: UInt32) {
    load_session(load, hello, room)
    sessions += 1
  }

  /// Opens the closed sessions of a range. `rate` is sessions a second; 0 opens all at once.
  func open(_ range: Range<UInt32>, rate: Double) {
    load_open(load, range.lowerBound, UInt32(range.count), rate)
  }

  func cut(_ range: Range<UInt32>) { load_cut(load, range.lowerBound, UInt32(range.count)) }
  func flap(_ range: Range<UInt32>, rate: Double) { load_flap(load, range.lowerBound, UInt32(range.count), rate) }

  func publish(_ publish: load_publish_t) { withUnsafePointer(to: publish) { load_publish(load, $0) } }
  func stopPublishing() { load_publish(load, nil) }

  /// Begins to report the Focus of users, whose names are `prefix` and their numbers.
  /// - Parameters:
  ///   - fields: Further header fields of each request, each with its line end.
  ///   - rate: Reports a second; 0 sends one after the other.
  func report(as prefix: String, fields: String, users: Range<UInt32>, connections: UInt32, rate: Double) {
    prefix.withCString { prefix in
      fields.withCString { fields in
        var reports = load_reports_t(
          users: prefix, fields: fields, first: users.lowerBound, count: UInt32(users.count), connections: connections,
          rate: rate)
        load_report(load, &reports)
      }
    }
  }

  func stopReporting() { load_report(load, nil) }
  func measure(_ isOn: Bool) { load_measure(load, isOn) }
  func forgetOpenings() { load_forget_openings(load) }

  /// Runs the load until the condition is true or the time is over.
  /// - Returns: True if the condition became true.
  @discardableResult
  func run(until: load_until_t = LOAD_TIME, atMost time: Duration) -> Bool { load_run(load, until, time.seconds) }

  func misinformed(_ range: Range<UInt32>, memberCount: UInt64) -> UInt32 {
    load_misinformed(load, range.lowerBound, UInt32(range.count), memberCount)
  }

  /// The refusals and the causes of closed sessions, with their counts.
  var problems: [(text: String, times: UInt64)] {
    var found: [(text: String, times: UInt64)] = []
    var times: UInt64 = 0
    while let text = load_problem(load, UInt32(found.count), &times) { found.append((String(cString: text), times)) }
    return found
  }

  /// The relay's `welcome` frame. Is `nil` before the first session is open.
  var welcome: Welcome? {
    guard let text = load_welcome(load) else { return nil }
    return try? JSONDecoder().decode(Welcome.self, from: Data(String(cString: text).utf8))
  }

  struct Welcome: Decodable {
    struct Limits: Decodable {
      var sendRate: Double?
    }
    var server: String?
    var heartbeat: Double?
    var limits: Limits?
  }
}

/// Quantiles of durations in seconds.
struct Quantiles {
  let count: UInt64
  let p50, p90, p99, p999, largest: Double
}

extension Quantiles {
  init(_ histogram: UnsafePointer<load_histogram_t>) {
    func quantile(_ quantile: Double) -> Double { Double(load_histogram_quantile(histogram, quantile)) / 1e9 }
    self.init(
      count: histogram.pointee.count, p50: quantile(0.5), p90: quantile(0.9), p99: quantile(0.99),
      p999: quantile(0.999), largest: Double(histogram.pointee.largest) / 1e9)
  }

  /// - Parameter values: Durations in seconds, in any order.
  init(_ values: [Double]) {
    let sorted = values.sorted()
    func quantile(_ share: Double) -> Double {
      sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(share * Double(sorted.count)))]
    }
    self.init(
      count: UInt64(sorted.count), p50: quantile(0.5), p90: quantile(0.9), p99: quantile(0.99),
      p999: quantile(0.999), largest: sorted.last ?? 0)
  }
}

extension Duration {
  var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

/// Returns the text of a C string in a buffer.
func text(_ buffer: [CChar]) -> String {
  String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
