// SPDX-License-Identifier: Apache-2.0
import Foundation

#if canImport(Darwin)
  import Darwin
#endif

/// The state of the newest run, in a small file beside the database.
///
/// The database has the same counter. Both counters are incremented at each start, at each clean end, and once a second
/// while the store commits. If the counter in the file is higher, the database has lost commits.
struct RunRecord: Equatable, Sendable {
  static let name = "stillwire.run"

  /// A run of many years cannot reach this value.
  static let maxCounter: Int64 = 1 << 53

  var counter: Int64
  /// The id of the machine's boot. Is empty if the system gives none.
  var boot: String
  var synchronous: Synchronous
  /// True if the run has ended cleanly.
  var isClosed: Bool

  /// The record as one line that an operator can read.
  var text: String {
    let words = [
      "stillwire", "\(counter)", boot.isEmpty ? "-" : boot, synchronous.rawValue, isClosed ? "closed" : "open",
    ]
    return words.joined(separator: " ") + "\n"
  }
}

extension RunRecord {
  /// Returns `nil` for a text that no run has written.
  init?(_ text: String) {
    let words = text.split(whereSeparator: \.isWhitespace)
    guard words.count == 5, words[0] == "stillwire", let counter = Int64(words[1]),
      (0...Self.maxCounter).contains(counter),
      let synchronous = Synchronous(rawValue: String(words[3])), words[4] == "open" || words[4] == "closed"
    else { return nil }
    self.init(
      counter: counter, boot: words[2] == "-" ? "" : String(words[2]), synchronous: synchronous,
      isClosed: words[4] == "closed")
  }

  /// The id of this machine's boot. Is empty if the system gives none.
  static let thisBoot: String = {
    #if canImport(Darwin)
      var size = 0
      guard sysctlbyname("kern.bootsessionuuid", nil, &size, nil, 0) == 0, size > 0 else { return "" }
      var bytes = [UInt8](repeating: 0, count: size)
      guard sysctlbyname("kern.bootsessionuuid", &bytes, &size, nil, 0) == 0 else { return "" }
      return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    #else
      let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
      return text?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
    #endif
  }()
}

/// A loss of commits that an earlier run has acknowledged.
public enum DataLoss: String, Sendable {
  /// The machine lost power, or crashed, while commits were not forced to the disk (``Synchronous/normal``).
  case powerLoss = "power_loss"
  /// The database is a backup, an older copy, or the file of a node that has left its cluster.
  case restored
}

extension DataLoss {
  /// The largest gap that counts as a loss of power (120 increments). A larger gap is a restored backup.
  ///
  /// The counter is incremented at most once a second, and only while the store commits. So the increments of a relay
  /// with little traffic may take hours.
  static let maxPowerLoss: Int64 = 120

  /// Compares the file of the newest run with the database.
  /// - Parameters:
  ///   - file: The file's record of the newest run. Is `nil` when the file does not exist or cannot be read.
  ///   - counter: The counter in the database. Is 0 when no run has written one.
  ///   - boot: The id of the machine's boot now.
  ///   - isReplica: True if the database followed the log of a cluster. It may then lack commits of the other nodes,
  ///     and the file knows nothing of the commits in the cluster.
  /// - Returns: The loss. Is `nil` when the database has everything that was acknowledged.
  static func found(file: RunRecord?, database counter: Int64, boot: String, isReplica: Bool = false) -> DataLoss? {
    guard !isReplica else { return .restored }
    guard let file else { return counter == 0 ? nil : .restored }
    // The gap is negative if the process crashed after the commit and before it wrote the file.
    let gap = file.counter - counter
    let hasRebooted = boot.isEmpty || file.boot != boot
    if !file.isClosed, file.synchronous == .normal, hasRebooted, gap <= maxPowerLoss { return .powerLoss }
    return gap > 0 ? .restored : nil
  }
}
