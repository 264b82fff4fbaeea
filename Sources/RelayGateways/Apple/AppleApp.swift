// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// An app that receives pushes through Apple's service.
public struct AppleApp: Sendable, Equatable {
  /// The app name that devices register with.
  public var name: String
  /// The app's bundle ids. Never empty. The first applies to devices that register no topic.
  public var topics: [String]
  public var key: ProviderKey
  /// The environment that is tried first for devices that register none.
  public var environment: PushEnvironment

  public init(name: String, topics: [String], key: ProviderKey, environment: PushEnvironment) {
    precondition(!topics.isEmpty, "an app must have a bundle id")
    self.name = name
    self.topics = topics
    self.key = key
    self.environment = environment
  }
}

/// The settings of connections to Apple's service.
public struct AppleService: Sendable, Equatable {
  /// The host for both environments, instead of Apple's own.
  public var host: String?
  public var port: UInt16
  /// A PEM file of certificates to trust instead of the system's.
  public var caFile: String?
  /// The maximum number of connections for each key and environment.
  public var connections: Int
  /// The maximum number of streams at once on a connection.
  public var streams: Int
  /// The timeout of a connection, and of an answer.
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

  func destination(of environment: PushEnvironment) -> HTTPDestination {
    let name =
      switch environment {
      case .production: "api.push.apple.com"
      case .sandbox: "api.sandbox.push.apple.com"
      }
    return HTTPDestination(isSecure: true, host: host ?? name, port: Int(port))
  }
}
