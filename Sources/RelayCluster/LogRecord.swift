// SPDX-License-Identifier: Apache-2.0

/// One record of the replicated log.
///
/// A record that is not stored yet has the sequence that it must get. The log stores it only if its last sequence is
/// the one before.
public struct LogRecord: Hashable, Sendable {
  public enum Kind: String, Sendable, CaseIterable {
    case term, rows, schema, noop
  }

  public enum Content: Hashable, Sendable {
    /// Begins a term with this leader.
    case term(Leader)
    /// The changed rows of a group commit, as the capture encodes them.
    case rows([UInt8])
    /// The name of a migration that each node runs itself.
    case schema(String)
    /// Changes nothing. An idle leader writes it to find out whether it still leads.
    case noop
  }

  /// The maximum size of a body, in bytes. A NATS server accepts 1 MiB with the headers, unless it is configured
  /// otherwise.
  public static let maxBody = 1_000_000

  public let sequence: UInt64
  public let term: UInt64
  /// A unique id. A leader compares it to find out whether a record in the log is its own.
  public let gid: String
  /// The leader's clock for idempotency keys when it made the record, in whole milliseconds since 1970. See ``KeyClock``.
  public let time: Duration
  public let content: Content

  public init(sequence: UInt64, term: UInt64, gid: String, time: Duration, content: Content) {
    precondition(sequence > 0 && term > 0, "sequences and terms begin at 1")
    if case .rows(let body) = content {
      precondition((1...Self.maxBody).contains(body.count), "the writer ends a group before the limit of a body")
    }
    self.sequence = sequence
    self.term = term
    self.gid = gid
    self.time = .milliseconds(time.wholeMilliseconds)
    self.content = content
  }

  public var kind: Kind {
    switch content {
    case .term: .term
    case .rows: .rows
    case .schema: .schema
    case .noop: .noop
    }
  }

  public var body: [UInt8] { if case .rows(let body) = content { body } else { [] } }
}

extension LogRecord: CustomStringConvertible {
  /// The record without its body, for logs.
  public var description: String {
    "\(kind.rawValue) \(gid) at \(sequence) in term \(term)" + (body.isEmpty ? "" : ", \(body.count) bytes")
  }
}

/// The node that leads a term.
public struct Leader: Hashable, Sendable {
  public static let maxName = 64
  public static let maxURL = 256

  /// Letters, digits, `-` and `_`; at most ``maxName`` characters.
  public let name: String
  /// The URL at which clients reach the node. Begins with `http://` or `https://`, and has at most ``maxURL``
  /// characters, all of them visible ASCII.
  public let url: String

  /// Returns `nil` if the name or the URL is not valid.
  public init?(name: String, url: String) {
    guard Self.isName(name, maxLength: Self.maxName), url.utf8.count <= Self.maxURL,
      url.hasPrefix("http://") || url.hasPrefix("https://"), url.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
    else { return nil }
    self.name = name
    self.url = url
  }

  /// True for 1 to `maxLength` letters, digits, `-` and `_`, all ASCII.
  public static func isName(_ text: some StringProtocol, maxLength: Int) -> Bool {
    text.isIdentifier(maxLength: maxLength) && !text.contains(".")
  }
}

extension StringProtocol {
  /// True for 1 to `maxLength` letters, digits, `-`, `_` and `.`, all ASCII.
  func isIdentifier(maxLength: Int) -> Bool {
    (1...maxLength).contains(utf8.count)
      && utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
          true
        default: false
        }
      }
  }

  /// The value of 1 to 19 digits without a leading zero, at most `Int64.max`, so that the next number exists. Returns
  /// `nil` for any other text.
  func strictNumber() -> UInt64? {
    guard (1...19).contains(utf8.count), utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      utf8.count == 1 || utf8.first != 0x30
    else { return nil }
    return Int64(self).map(UInt64.init)
  }
}
