// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The frames that clients received, and the pushes. The frames of a step are sorted by client, because the kernel
/// decides which client receives first.
struct Transcript: Sendable {
  /// The values that the relay chooses at random without a seed: epochs, delays before a reconnect, report keys, and
  /// the ids of pushes.
  private static let random = ["epoch", "retryAfter", "reportKey", "notification"].map { Array("\"\($0)\":".utf8) }

  private(set) var lines: [String] = []
  private var step: [(slot: Slot, line: String)] = []

  mutating func add(_ frame: [UInt8], to slot: Slot, at time: Timestamp) {
    let text = Self.random.reduce(frame, Self.masked)
    step.append((slot, line("\(slot) receives \(String(decoding: text, as: UTF8.self))", at: time)))
  }

  mutating func add(_ words: String, at time: Timestamp) { lines.append(line(words, at: time)) }

  mutating func endStep() {
    for slot in World.slots { lines += step.filter { $0.slot == slot }.map(\.line) }
    step = []
  }

  private func line(_ words: String, at time: Timestamp) -> String {
    "\((time - VirtualClock.start).milliseconds) ms: \(words)"
  }

  private static func masked(_ frame: [UInt8], _ key: [UInt8]) -> [UInt8] {
    guard let range = frame.firstRange(of: key) else { return frame }
    let end = frame[range.upperBound...].firstIndex { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "}") }
    return Array(frame[..<range.upperBound] + frame[(end ?? frame.endIndex)...])
  }
}
