// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// Writes Prometheus' text format, version 0.0.4.
///
/// It is hand-written, because the counters are in the hub's C code and in the components. The relay reads them once
/// for each scrape. A metrics library would keep its own copies, and take a lock for each change.
struct MetricsText {
  package private(set) var text = ""

  package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  package enum Kind: String { case counter, gauge, histogram }

  package mutating func counter(_ name: String, _ help: String, _ value: some BinaryInteger) {
    begin(name, help, .counter)
    sample(name, "\(value)")
  }

  package mutating func counter(_ name: String, _ help: String, seconds: Double) {
    begin(name, help, .counter)
    sample(name, "\(seconds)")
  }

  /// Writes no sample if there is no value.
  mutating func gauge(_ name: String, _ help: String, _ value: (some BinaryInteger)?) {
    begin(name, help, .gauge)
    if let value { sample(name, "\(value)") }
  }

  mutating func gauge(_ name: String, _ help: String, seconds: Double?) {
    begin(name, help, .gauge)
    if let seconds { sample(name, "\(seconds)") }
  }

  /// Writes one sample for each value of a label. Values must not contain quotes, backslashes or line breaks.
  mutating func family(
    _ name: String, _ help: String, _ kind: Kind, by label: String, _ samples: [(String, some BinaryInteger)]
  ) {
    begin(name, help, kind)
    for (value, count) in samples { sample(name, "\(count)", "{\(label)=\"\(value)\"}") }
  }

  package mutating func histogram(_ name: String, _ help: String, _ histogram: Histogram) {
    begin(name, help, .histogram)
    var sum: UInt64 = 0
    for (bound, count) in zip(histogram.bounds.map { "\($0)" } + ["+Inf"], histogram.counts) {
      sum += count
      sample("\(name)_bucket", "\(sum)", "{le=\"\(bound)\"}")
    }
    sample("\(name)_sum", "\(histogram.sum)")
    sample("\(name)_count", "\(sum)")
  }

  private mutating func begin(_ name: String, _ help: String, _ kind: Kind) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
  }

  private mutating func sample(_ name: String, _ value: String, _ labels: String = "") {
    text += "\(name)\(labels) \(value)\n"
  }
}
