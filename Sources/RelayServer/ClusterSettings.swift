// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayCluster
import RelayIdentity
import RelayNATS

/// The settings of a node. Without servers, the relay is a single node.
public struct ClusterSettings: Equatable, Sendable {
  /// The NATS servers.
  var servers: [String] = []
  /// The name of this node. If `nil`, the name of the host.
  var node: String?
  /// The URL at which clients reach this node.
  var url: String?
  /// The number of NATS servers that store each record. If `nil`, 3 with at least three servers, else 1.
  var replicas: ClusterReplicas?
  /// The settings that the connection to NATS takes as they are. ``nats(_:)`` completes them.
  var nats = NATSConfiguration(servers: "", cluster: "stillwire", node: "")

  public init() {}

  public var isOn: Bool { !servers.isEmpty }

  static let maxName = 32

  /// This node. Throws ``StartupError`` if the name or the URL is not valid.
  func leader() throws(StartupError) -> Leader {
    let node = node ?? Self.hostName
    guard Leader.isName(node, maxLength: Self.maxName) else {
      throw StartupError(
        "cluster.node must have 1 to \(Self.maxName) letters, digits, - and _, not \(node.isEmpty ? "none" : node)")
    }
    guard var url else {
      throw StartupError(
        "cluster.url is missing: the URL at which clients reach this node, such as http://10.0.0.7:8080")
    }
    while url.hasSuffix("/") { url.removeLast() }
    guard let leader = Leader(name: node, url: url) else {
      throw StartupError("cluster.url must be an http or https URL of at most \(Leader.maxURL) characters, not \(url)")
    }
    return leader
  }

  /// The settings of the connection to NATS. Throws ``StartupError``.
  func nats(_ leader: Leader) throws(StartupError) -> NATSConfiguration {
    var nats = nats
    guard Leader.isName(nats.cluster, maxLength: Self.maxName) else {
      throw StartupError("cluster.name must have 1 to \(Self.maxName) letters, digits, - and _, not \(nats.cluster)")
    }
    guard (nats.certificateFile == nil) == (nats.keyFile == nil) else {
      throw StartupError("cluster.certificateFile and cluster.keyFile need each other")
    }
    nats.servers = servers.joined(separator: ",")
    nats.node = leader.name
    nats.replicas = replicas?.count ?? (servers.count >= 3 ? 3 : 1)
    return nats
  }

  static func isServer(_ text: String) -> Bool {
    (text.hasPrefix("nats://") || text.hasPrefix("tls://")) && !text.hasSuffix("://")
      && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
  }

  /// The name of the host up to the first dot.
  private static var hostName: String {
    String(ProcessInfo.processInfo.hostName.prefix { $0 != "." }.prefix(maxName))
  }
}

/// A number of servers that can have a majority.
enum ClusterReplicas: String, CaseIterable, Sendable {
  case one = "1"
  case three = "3"
  case five = "5"

  var count: Int {
    switch self {
    case .one: 1
    case .three: 3
    case .five: 5
    }
  }
}
