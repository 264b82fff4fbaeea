// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// An app that Apple's service pushes to.
public struct AppleApp: Sendable, Equatable {
  /// As its devices name it.
  public var name: String
  /// Its bundle ids; the first is that of devices that say none. Never empty.
  public var topics: [String]
  public var key: ProviderKey
  /// Where the tokens of devices that do not say are tried first.
  public var environment: PushEnvironment

  public init(name: String, topics: [String], key: ProviderKey, environment: PushEnvironment) {
    precondition(!topics.isEmpty, "an app has a bundle id")
    self.name = name
    self.topics = topics
    self.key = key
    self.environment = environment
  }
}

/// How Apple's service is reached.
public struct AppleService: Sendable, Equatable {
  /// Instead of Apple's own of either environment.
  public var host: String?
  public var port: UInt16
  /// Certificates, as PEM, that are trusted instead of the system's.
  public var caFile: String?
  /// Connections at most, for each key and environment.
  public var connections: Int
  /// Streams of a connection at most.
  public var streams: Int
  /// For a connection and for an answer.
  public var timeout: Duration

  public init(
    host: String? = nil, port: UInt16 = 443, caFile: String? = nil, connections: Int = 2, streams: Int = 500,
    timeout: Duration = .seconds(10)
  ) {
    self.host = host
    self.port = port
    self.caFile = caFile
    self.connections = connections
    self.streams = streams
    self.timeout = timeout
  }

  func host(of environment: PushEnvironment) -> String {
    if let host { return host }
    return switch environment {
    case .production: "api.push.apple.com"
    case .sandbox: "api.sandbox.push.apple.com"
    }
  }
}
