// SPDX-License-Identifier: Apache-2.0
// The settings of the simulator: those that can change while it runs, and those of its start.
import Foundation
import RelayJSON
public import RelayProtocol

extension AppleSimulator {
  /// Settings that may change while the simulator runs. A change applies from the next request.
  public struct Settings: Sendable, Codable {
    public var environment = Environment.sandbox
    /// The keys that tokens may be signed with. If several keys have the same id, the first applies.
    public var keys: [Key] = []
    /// True to accept tokens of keys that are not in ``keys``, without checking their signature.
    public var acceptsAnyKey = false
    /// True if two tokens of one key count as an update even on different connections.
    public var countsUpdatesAcrossConnections = false
    /// The maximum by which a token's time of issue may be in the future.
    @Seconds public var clockSkew = Duration.seconds(60)
    /// An offset to the clock, so that a test can let tokens age and notifications expire.
    @Seconds public var clockOffset = Duration.zero
    /// The bundle ids that may receive pushes. Empty: all.
    public var topics: Set<String> = []
    /// The number of digits in the tokens of devices that no script has set.
    public var tokenDigits = 64
    /// The maximum number of notifications to a device in a minute. Is `nil` for no limit.
    public var mostPerDevice: Int?
    /// The range from which the delay of each answer is chosen at random.
    @SecondsRange public var latency = Duration.zero...Duration.zero
    /// The maximum number of concurrent streams on a connection after its first valid token. Before, it is 1.
    public var streams = 1000
    /// The initial flow-control window of a stream in bytes, from 1 to 65,535.
    public var window = 65_535
    /// The delay before received bytes count as read.
    @Seconds public var readDelay = Duration.zero
    /// The number of requests after which a connection ends with a GOAWAY. Is `nil` for no limit.
    public var requestsPerConnection: Int?

    public init() {}

    /// Adds a key, or replaces the key with its id.
    public mutating func add(_ key: Key) {
      keys.removeAll { $0.id == key.id }
      keys.append(key)
    }

    func key(_ id: String) -> Key? { keys.first { $0.id == id } }

    public static let maxStreams = 10_000

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
      try check("tokenDigits", tokenDigits, 2...AppleSimulator.maxTokenLength)
      try check("mostPerDevice", mostPerDevice, 1...Int(maxInteger))
      try check("latency", latency.lowerBound, .zero ... .seconds(3600))
      try check("latency", latency.upperBound, .zero ... .seconds(3600))
      try check("streams", streams, 0...Self.maxStreams)
      try check("window", window, 1...65_535)
      try check("readDelay", readDelay, .zero ... .seconds(3600))
      try check("requestsPerConnection", requestsPerConnection, 1...Int(maxInteger))
    }

    private func check<Value>(_ name: String, _ value: Value?, _ bounds: ClosedRange<Value>) throws(RequestError) {
      guard let value, !bounds.contains(value) else { return }
      throw RequestError(
        .badRequest, "\(name): must be from \(bounds.lowerBound) to \(bounds.upperBound)", at: "/\(name)")
    }
  }

  /// The settings that cannot change after the start.
  public struct Configuration: Sendable {
    public var host = "127.0.0.1"
    /// The port. 0: any free port.
    public var port = 0
    /// The certificate and key in PEM. `nil`: generate a certificate for `localhost`, 127.0.0.1, ::1 and `host`.
    public var identity: (certificates: String, key: String)?
    public var settings = Settings()
    public var threads = 1
    /// The maximum number of connections. Further connections are closed at once.
    public var maxConnections = 1000
    /// The number of newest arrivals to keep for each thread.
    public var maxArrivals = 10_000
    /// The time without requests after which a connection is closed.
    public var idleTime = Duration.seconds(3600)
    public var now: @Sendable () -> Timestamp = { Timestamp(rawValue: Int64(Date().timeIntervalSince1970 * 1000)) }

    public init() {}
  }
}
