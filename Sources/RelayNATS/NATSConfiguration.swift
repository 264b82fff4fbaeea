// SPDX-License-Identifier: Apache-2.0

/// The settings of a connection to NATS, and of the streams that hold the log.
public struct NATSConfiguration: Equatable, Sendable {
  /// The servers, separated by commas, for example `nats://a:4222,nats://b:4222`. With the scheme `tls`, all connections
  /// use TLS.
  public var servers: String
  /// The name of the cluster: letters, digits, `-` and `_`. The names of streams and subjects begin with it.
  public var cluster: String
  /// The name of this node, with the same characters.
  public var node: String
  /// The number of NATS servers that store a record: 1, 3 or 5.
  public var replicas = 1
  /// A credentials file of NATS, with a token and a seed.
  public var credentialsFile: String?
  /// A PEM file with the authorities that sign the servers' certificates. Without it, those of the system.
  public var authorityFile: String?
  /// PEM files with this node's certificate and key, if the servers require one.
  public var certificateFile: String?
  public var keyFile: String?
  /// The time that one request waits for an answer. An attempt to publish without an answer has an unknown outcome.
  public var timeout = Duration.seconds(1)
  /// The limit of the log's size on disk, in bytes. A full log accepts no record until it is truncated. It
  /// applies when a node creates the stream.
  public var maxLogBytes: Int64 = 4 << 30
  /// The limit of the size of all snapshots on disk, in bytes. It must hold two copies of the largest file. It
  /// applies when a node creates the stream.
  public var maxSnapshotBytes: Int64 = 16 << 30
  /// The time for which NATS recognizes a repeated publish by its id.
  public var duplicateWindow = Duration.seconds(120)

  public init(servers: String, cluster: String, node: String) {
    self.servers = servers
    self.cluster = cluster
    self.node = node
  }

  var logStream: String { "\(cluster)-log" }
  var logSubject: String { "stillwire.\(cluster).log" }
  var snapshotStream: String { "\(cluster)-snapshots" }
  var snapshotSubjects: String { "stillwire.\(cluster).snapshots.>" }
  var manifestSubject: String { "stillwire.\(cluster).snapshots.manifest" }
  var heartbeatSubject: String { "stillwire.\(cluster).heartbeat" }

  func chunkSubject(_ number: String, of id: String) -> String {
    "stillwire.\(cluster).snapshots.chunk.\(id).\(number)"
  }
}

extension Duration {
  /// The whole milliseconds; at least 1, because cnats takes 0 as no limit.
  var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    return max(1, seconds * 1_000 + attoseconds / 1_000_000_000_000_000)
  }
}
