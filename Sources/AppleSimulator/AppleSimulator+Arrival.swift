// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

extension AppleSimulator {
  /// A request, and what became of it.
  public struct Arrival: Sendable {
    public enum Outcome: Equatable, Sendable {
      case shown
      /// Waits for its device to be on.
      case stored
      /// 200, but it reaches nobody: its device is off, and it may not wait.
      case dropped
      case refused(Refusal)
      /// There was no answer: `hang`, `resetStream`, `resetConnection` or `goAway`.
      case unanswered(String)

      /// A word for it, `refused` aside the outcome's own.
      public var name: String {
        switch self {
        case .shown: "shown"
        case .stored: "stored"
        case .dropped: "dropped"
        case .refused: "refused"
        case .unanswered(let how): how
        }
      }
    }

    /// Counts all that arrived, from 1.
    public var number: UInt64
    public var time: Timestamp
    /// Counts the connections, from 1.
    public var connection: Int
    public var stream: Int
    public var method: String
    public var path: String
    /// The others, without `authorization`.
    public var headers: [(name: String, value: String)]
    /// Of its provider token, when that was good.
    public var keyID: String?
    /// `apns-id` of the answer.
    public var id: String
    /// At most 5,121 bytes of it.
    public var payload: [UInt8]
    public var outcome: Outcome

    /// The header of that name.
    public subscript(header: String) -> String? { headers.first { $0.name == header }?.value }
  }

  /// The number of events since the start or the last ``AppleSimulator/reset()``.
  public struct Counts: Equatable, Sendable, Codable {
    public var connections = 0
    /// Those that are open.
    public var openConnections = 0
    public var requests = 0
    /// Signatures of provider tokens that were verified.
    public var verifications = 0
    /// By ``Arrival/Outcome/name``.
    public var outcomes: [String: Int] = [:]
    /// By reason.
    public var refusals: [String: Int] = [:]

    static func += (sum: inout Counts, other: Counts) {
      sum.connections += other.connections
      sum.openConnections += other.openConnections
      sum.requests += other.requests
      sum.verifications += other.verifications
      sum.outcomes.merge(other.outcomes, uniquingKeysWith: +)
      sum.refusals.merge(other.refusals, uniquingKeysWith: +)
    }
  }

  /// The newest of what was put in.
  struct Ring<Element> {
    private var elements: [Element] = []
    private var next = 0
    private let capacity: Int

    init(capacity: Int) {
      precondition(capacity > 0, "a ring without room keeps nothing")
      self.capacity = capacity
    }

    mutating func append(_ element: Element) {
      if elements.count < capacity {
        elements.append(element)
      } else {
        elements[next] = element
        next = (next + 1) % capacity
      }
    }

    /// Oldest first.
    var inOrder: [Element] { Array(elements[next...] + elements[..<next]) }
  }
}
