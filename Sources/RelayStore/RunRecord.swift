// SPDX-License-Identifier: Apache-2.0
import Foundation

#if canImport(Darwin)
  import Darwin
#endif

/// The state of the newest run, in a small file beside the database.
///
/// The database holds the same counter. Both counters go up at each start, at each clean end, and once a second while
/// the store commits. A counter in the file above that in the database shows that the database has lost commits.
struct RunRecord: Equatable, Sendable {
  static let name = "stillwire.run"

  /// More than a run of many years can reach.
  static let maxCounter: Int64 = 1 << 53

  var counter: Int64
  /// The id of the machine's boot; empty where the system gives none.
  var boot: String
  var synchronous: Synchronous
  /// True if the run has ended cleanly.
  var isClosed: Bool

  /// One line, so that an operator can read the file.
  var text: String {
    let words = [
      "stillwire", "\(counter)", boot.isEmpty ? "-" : boot, synchronous.rawValue, isClosed ? "closed" : "open",
    ]
    return words.joined(separator: " ") + "\n"
  }

  init(counter: Int64, boot: String, synchronous: Synchronous, isClosed: Bool) {
    self.counter = counter
    self.boot = boot
    self.synchronous = synchronous
    self.isClosed = isClosed
  }

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

  /// The boot of this machine; empty where the system gives no id.
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

/// Commits that an earlier run has acknowledged, and that the database does not hold.
public enum DataLoss: String, Sendable {
  /// The machine lost power, or crashed, while commits were not forced to the disk (``Synchronous/normal``).
  case powerLoss = "power_loss"
  /// The database is a backup, or an older copy.
  case restored
}

extension DataLoss {
  /// The largest gap that counts as a loss of power (120 increments). A larger gap is a restored backup.
  ///
  /// The counter goes up once a second at most, and only while the store commits. So the increments of a relay with
  /// little traffic may take hours.
  static let maxPowerLoss: Int64 = 120

  /// Compares the file of the newest run with the database.
  /// - Parameters:
  ///   - file: The newest run as the file says; `nil` when there is no readable file.
  ///   - counter: The counter in the database; 0 when no run has written one.
  ///   - boot: The id of the machine's boot now.
  /// - Returns: The loss, or `nil` when the database holds all that was acknowledged.
  static func found(file: RunRecord?, database counter: Int64, boot: String) -> DataLoss? {
    guard let file else { return counter == 0 ? nil : .restored }
    // Below 0: the process crashed after the commit and before the file was written.
    let gap = file.counter - counter
    let hasRebooted = boot.isEmpty || file.boot != boot
    if !file.isClosed, file.synchronous == .normal, hasRebooted, gap <= maxPowerLoss { return .powerLoss }
    return gap > 0 ? .restored : nil
  }
}
