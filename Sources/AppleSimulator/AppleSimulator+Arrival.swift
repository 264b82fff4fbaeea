// SPDX-License-Identifier: Apache-2.0
// The records of requests: arrivals, counts, and the ring buffer that keeps them.
public import RelayProtocol

extension AppleSimulator {
  /// A request and its outcome.
  public struct Arrival: Sendable {
    public enum Outcome: Equatable, Sendable {
      case shown
      /// The notification waits until the device is on.
      case stored
      /// Answered with 200, but not delivered: the device is off and the notification must not wait.
      case dropped
      case refused(Refusal)
      /// The request got no answer. The value is `hang`, `resetStream`, `resetConnection` or `goAway`.
      case unanswered(String)

      /// The name of the outcome in JSON and in counts.
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

    /// The number of the arrival, from 1.
    public var number: UInt64
    public var time: Timestamp
    /// The number of the connection, from 1.
    public var connection: Int
    public var stream: Int
    public var method: String
    public var path: String
    /// The other headers, without `authorization`.
    public var headers: [(name: String, value: String)]
    /// The key id of the provider token, if the token was valid.
    public var keyID: String?
    /// The header `apns-id` of the answer.
    public var id: String
    /// The first 5,121 bytes of the payload.
    public var payload: [UInt8]
    public var outcome: Outcome

    /// Returns the value of a header.
    public subscript(header: String) -> String? { headers.first { $0.name == header }?.value }
  }

  /// The number of events since the start or the last ``AppleSimulator/reset()``.
  public struct Counts: Equatable, Sendable, Codable {
    public var connections = 0
    /// The connections that are open now.
    public var openConnections = 0
    public var requests = 0
    /// Verified signatures of provider tokens.
    public var verifications = 0
    /// Requests by ``Arrival/Outcome/name``.
    public var outcomes: [String: Int] = [:]
    /// Refused requests by reason.
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

  /// A ring buffer that keeps the newest elements.
  struct Ring<Element> {
    private var elements: [Element] = []
    private var next = 0
    private let capacity: Int

    init(capacity: Int) {
      precondition(capacity > 0, "the capacity must be at least 1")
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

    /// The elements, oldest first.
    var inOrder: [Element] { Array(elements[next...] + elements[..<next]) }
  }
}
