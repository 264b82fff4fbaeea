// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayJSON
public import RelayProtocol

extension AppleSimulator {
  /// Settings that may change while the simulator runs. A change applies from the next request.
  public struct Settings: Sendable, Codable {
    public var environment = Environment.sandbox
    /// The keys that tokens may be signed with. If several have one id, the first counts.
    public var keys: [Key] = []
    /// Tokens of keys that are not in ``keys`` are taken without looking at their signature.
    public var acceptsAnyKey = false
    /// Two tokens of one key count as an update even when they come on two connections.
    public var countsUpdatesAcrossConnections = false
    /// The maximum by which a token may come from the future.
    @Seconds public var clockSkew = Duration.seconds(60)
    /// Added to the clock, so that tokens age and notifications expire.
    @Seconds public var clockOffset = Duration.zero
    /// The bundle ids that may be pushed to; empty: all.
    public var topics: Set<String> = []
    /// Digits of the tokens of devices that no script names.
    public var tokenDigits = 64
    /// Notifications that a device takes in a minute; nil: any number.
    public var mostPerDevice: Int?
    /// Drawn for each answer.
    @SecondsRange public var latency = Duration.zero...Duration.zero
    /// Streams of a connection at once, when it has shown a token; 1 until then.
    public var streams = 1000
    /// Bytes of a request that may be on their way unread, from 1 to 65,535.
    public var window = 65_535
    /// The time for which bytes stay unread.
    @Seconds public var readDelay = Duration.zero
    /// Every connection ends with a GOAWAY after that many requests.
    public var requestsPerConnection: Int?

    public init() {}

    /// Adds a key, or replaces the key with its id.
    public mutating func add(_ key: Key) {
      keys.removeAll { $0.id == key.id }
      keys.append(key)
    }

    func key(_ id: String) -> Key? { keys.first { $0.id == id } }

    public static let mostStreams = 10_000

    /// Changes the members of a JSON object, or none if one is wrong. Null removes a member that can be absent.
    mutating func change(_ patch: [String: JSON]) throws(RequestError) {
      guard case .object(var members)? = JSON(reading: JSONEncoder.body(self)) else {
        preconditionFailure("the settings are a JSON object")
      }
      members.merge(patch) { $1 }
      let changed = try JSONDecoder.value(Settings.self, from: JSONWriter.object { $0.members(members) })
      try changed.check()
      let known = JSON(reading: JSONEncoder.body(changed))
      if let unknown = patch.keys.sorted().first(where: { patch[$0] != .null && known?[$0] == nil }) {
        throw RequestError(
          .dataCorrupted(.init(codingPath: [Member(stringValue: unknown)], debugDescription: "is unknown")))
      }
      self = changed
    }

    private func check() throws(RequestError) {
      try check("clockSkew", clockSkew, .zero ... .seconds(86_400))
      try check("tokenDigits", tokenDigits, 2...AppleSimulator.longestToken)
      try check("mostPerDevice", mostPerDevice, 1...Int(largestInteger))
      try check("latency", latency.lowerBound, .zero ... .seconds(3600))
      try check("latency", latency.upperBound, .zero ... .seconds(3600))
      try check("streams", streams, 0...Self.mostStreams)
      try check("window", window, 1...65_535)
      try check("readDelay", readDelay, .zero ... .seconds(3600))
      try check("requestsPerConnection", requestsPerConnection, 1...Int(largestInteger))
    }

    private func check<Value>(_ name: String, _ value: Value?, _ bounds: ClosedRange<Value>) throws(RequestError) {
      guard let value, !bounds.contains(value) else { return }
      throw RequestError(
        .badRequest, "\(name): must be from \(bounds.lowerBound) to \(bounds.upperBound)", at: "/\(name)")
    }
  }

  /// What is fixed at the start.
  public struct Configuration: Sendable {
    public var host = "127.0.0.1"
    /// 0: any free one.
    public var port = 0
    /// PEM; nil: a certificate for `localhost`, 127.0.0.1 and `host` is made.
    public var identity: (certificates: String, key: String)?
    public var settings = Settings()
    public var threads = 1
    /// One more is closed at once.
    public var mostConnections = 1000
    /// The newest of what arrived are kept, that many for each thread.
    public var mostArrivals = 10_000
    /// A connection that asks nothing for so long is closed.
    public var idleTime = Duration.seconds(3600)
    public var now: @Sendable () -> Timestamp = { Timestamp(rawValue: Int64(Date().timeIntervalSince1970 * 1000)) }

    public init() {}
  }
}
