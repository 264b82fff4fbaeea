// SPDX-License-Identifier: Apache-2.0
public import Crypto
import RelayJSON
import RelayProtocol

// The JSON of the control API, where Swift's representation differs from it. The simulator's DocC article lists all
// members.

extension AppleSimulator.Environment: Codable {}
extension AppleSimulator.Reason: Codable {}

extension AppleSimulator {
  /// A duration that JSON writes in seconds.
  @propertyWrapper
  public struct Seconds: Sendable, Codable {
    public var wrappedValue: Duration

    /// The largest absolute value that JSON may contain.
    static let max = 1e9

    public init(wrappedValue: Duration) { self.wrappedValue = wrappedValue }

    public init(from decoder: any Decoder) throws {
      let seconds = try decoder.singleValueContainer().decode(Double.self)
      guard abs(seconds) <= Self.max else { throw decoder.fault("must be from -1e9 to 1e9") }
      wrappedValue = .seconds(seconds)
    }

    public func encode(to encoder: any Encoder) throws { try wrappedValue.seconds.encode(to: encoder) }
  }

  /// A range of durations. JSON writes the bounds in seconds; a single number stands for both.
  @propertyWrapper
  public struct SecondsRange: Sendable, Codable {
    public var wrappedValue: ClosedRange<Duration>

    public init(wrappedValue: ClosedRange<Duration>) { self.wrappedValue = wrappedValue }

    public init(from decoder: any Decoder) throws {
      if let single = try? Seconds(from: decoder) {
        wrappedValue = single.wrappedValue...single.wrappedValue
        return
      }
      let bounds = try? decoder.singleValueContainer().decode([Seconds].self).map(\.wrappedValue)
      guard let bounds, bounds.count == 2, bounds[0] <= bounds[1] else {
        throw decoder.fault("must be a number of seconds, or an array of the shortest and longest")
      }
      wrappedValue = bounds[0]...bounds[1]
    }

    public func encode(to encoder: any Encoder) throws {
      try [wrappedValue.lowerBound.seconds, wrappedValue.upperBound.seconds].encode(to: encoder)
    }
  }

  /// A public key that JSON writes as PEM.
  @propertyWrapper
  public struct PEM: Sendable, Codable {
    public var wrappedValue: P256.Signing.PublicKey

    public init(wrappedValue: P256.Signing.PublicKey) { self.wrappedValue = wrappedValue }

    public init(from decoder: any Decoder) throws {
      let text = try decoder.singleValueContainer().decode(String.self)
      guard let key = try? P256.Signing.PublicKey(pemRepresentation: text) else {
        throw decoder.fault("must be a P-256 public key in PEM format")
      }
      wrappedValue = key
    }

    public func encode(to encoder: any Encoder) throws { try wrappedValue.pemRepresentation.encode(to: encoder) }
  }
}

extension AppleSimulator.Fault: Codable {
  /// The members of all actions.
  private struct Members: Codable {
    enum Action: String, Codable { case answer, hang, resetStream, resetConnection, goAway }

    var action: Action
    var status: Int?
    var reason: String?
    /// Milliseconds since 1970.
    var timestamp: Int?
    var retryAfter: Int?
    var code: Int?
    var tokens: Set<String>?
    var share: Double?
    var times: Int?
  }

  public init(from decoder: any Decoder) throws {
    let members = try Members(from: decoder)
    try decoder.check("status", members.status, 200...599)
    try decoder.check("timestamp", members.timestamp, 0...Int(maxInteger))
    try decoder.check("retryAfter", members.retryAfter, 0...86_400)
    try decoder.check("code", members.code, 0...0xFFFF_FFFF)
    try decoder.check("share", members.share, 0...1)
    try decoder.check("times", members.times, 1...Int(maxInteger))
    let action: Action =
      switch members.action {
      case .answer: .answer(try Self.refusal(members, decoder))
      case .hang: .hang
      case .resetStream: .resetStream(code: members.code ?? 2)
      case .resetConnection: .resetConnection
      case .goAway: .goAway
      }
    self.init(
      action, tokens: Set((members.tokens ?? []).map { $0.lowercased() }), share: members.share ?? 1,
      times: members.times)
  }

  private static func refusal(_ members: Members, _ decoder: any Decoder) throws -> AppleSimulator.Refusal {
    guard let reason = members.reason else { throw decoder.fault("is missing", at: "reason") }
    guard let status = members.status ?? AppleSimulator.Reason(rawValue: reason)?.status else {
      throw decoder.fault("is missing", at: "status")
    }
    return AppleSimulator.Refusal(
      status: status, reason: reason, timestamp: members.timestamp.map { Timestamp(rawValue: Int64($0)) },
      retryAfter: members.retryAfter)
  }

  public func encode(to encoder: any Encoder) throws {
    var members: Members
    switch action {
    case .answer(let refusal):
      members = Members(action: .answer)
      (members.status, members.reason, members.retryAfter) = (refusal.status, refusal.reason, refusal.retryAfter)
      members.timestamp = refusal.timestamp.map { Int($0.rawValue) }
    case .hang: members = Members(action: .hang)
    case .resetStream(let code): members = Members(action: .resetStream, code: code)
    case .resetConnection: members = Members(action: .resetConnection)
    case .goAway: members = Members(action: .goAway)
    }
    members.tokens = tokens.isEmpty ? nil : tokens
    members.share = share
    members.times = times
    try members.encode(to: encoder)
  }
}

extension AppleSimulator.Phone {
  /// The members that a script sets. An absent member has its default value.
  struct Script: Decodable {
    var isOn: Bool?
    var topics: Set<String>?
    var environment: AppleSimulator.Environment?
    /// Milliseconds since 1970.
    var unregistered: Int?
    var expired: Int?
  }

  init(_ script: Script) {
    isOn = script.isOn ?? true
    topics = script.topics
    environment = script.environment
    unregistered = script.unregistered.map { Timestamp(rawValue: Int64($0)) }
    expired = script.expired.map { Timestamp(rawValue: Int64($0)) }
  }
}
