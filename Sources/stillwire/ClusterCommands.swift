// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import Logging
import RelayIdentity
import RelayServer

/// `stillwire cluster`: commands for the operators of a cluster.
struct ClusterCommands: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cluster", abstract: "Inspect and control the nodes of a cluster.",
    subcommands: [ClusterStatus.self, ClusterStepDown.self, ClusterSnapshot.self, ClusterResetCommand.self]
  )
}

struct ClusterStatus: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show the role of a node, its leader and its lag.",
    discussion: """
      The exit code is 0 if the node leads, or follows a leader and reaches the log. A warning does not change it.
      """)

  @OptionGroup var relay: RelayOptions

  @Flag(help: "Print the node's JSON.")
  var json = false

  func run() async throws {
    let answer = try await relay.send("GET", "/v1/cluster")
    let node = try RelayOptions.read(ClusterNodeState.self, from: answer)
    if json { try RelayOptions.print(answer) } else { print(node.text) }
    guard node.isWell else { throw ExitCode.failure }
  }
}

struct ClusterStepDown: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "step-down", abstract: "Let another node take over from the leader.",
    discussion: """
      The leader closes its sessions and becomes a follower. Another node takes over at once. If none does within 5 s, \
      the same node leads again.
      """)

  @OptionGroup var relay: RelayOptions

  func run() async throws {
    let answer = try await relay.send("POST", "/v1/cluster/step-down")
    print("\(try RelayOptions.read(ClusterNodeState.self, from: answer).node) steps down")
  }
}

struct ClusterSnapshot: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "snapshot", abstract: "Let a node publish a snapshot of its data.",
    discussion: """
      Followers publish snapshots by themselves. The log then drops the records that a snapshot contains. The node \
      logs the result.
      """)

  @OptionGroup var relay: RelayOptions

  func run() async throws {
    let answer = try await relay.send("POST", "/v1/cluster/snapshot")
    let node = try RelayOptions.read(ClusterNodeState.self, from: answer)
    print("\(node.node) publishes a snapshot at sequence \(node.sequence) or later")
  }
}

struct ClusterResetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reset", abstract: "Begin a new log with the data of this node.",
    discussion: """
      Run it to make a cluster from a single relay, or if the NATS servers have lost records. Stop all nodes first. \
      Choose the node with the newest data. The command deletes the log and all snapshots, and publishes the data of \
      --data. Afterwards move the data folders of the other nodes away: they load the new snapshot.
      """)

  @OptionGroup(title: SettingGroup.common.title) var common: SettingOptions<CommonSettings>
  @OptionGroup(title: SettingGroup.cluster.title) var cluster: SettingOptions<ClusterOptions>

  @Flag(help: "Confirm the deletion of the log.")
  var confirm = false

  func run() async throws {
    do {
      let configuration = try ConfigurationSources.read(common.given.merging(cluster.given) { $1 })
      guard confirm else {
        throw StartupError("this deletes the log and the snapshots of the cluster. Give --confirm to go on")
      }
      print(try ClusterReset.run(configuration, log: Logger(label: "stillwire") { _ in SwiftLogNoOpLogHandler() }))
    } catch {
      throw ExitCode.failure(error)
    }
  }
}

/// The state of a node, as it answers `GET /v1/cluster`.
struct ClusterNodeState: Decodable {
  var node: String
  var url: String
  var role: String
  var term: UInt64
  var sequence: UInt64
  var lag: UInt64?
  var reachesLog: Bool
  var replicas: [String: Replicas]?
  var clockDifference: Double?
  var leader: Leader?
  var alarm: Alarm?
  var obstacle: Alarm?
  var warnings: [Alarm]?

  struct Leader: Decodable {
    var node: String
    var url: String
  }

  struct Replicas: Decodable {
    var current: Int
    var configured: Int
  }

  struct Alarm: Decodable {
    var code: String
    var text: String
  }

  var isWell: Bool {
    guard obstacle == nil || obstacle?.code == "behind" else { return false }
    return role == "leader" || (role == "follower" && leader != nil && reachesLog)
  }

  private var log: String {
    guard reachesLog else { return "no answer" }
    let counts = ["log", "snapshots"].compactMap { stream in
      replicas?[stream].map { "\($0.current) of \($0.configured) replicas of the \(stream)" }
    }
    return counts.isEmpty ? "reached" : counts.joined(separator: ", ")
  }

  var text: String {
    var lines = [
      "node:     \(node) at \(url)", "role:     \(role)",
      "leader:   \(leader.map { "\($0.node) at \($0.url)" } ?? "none")", "term:     \(term)", "sequence: \(sequence)",
      "lag:      \(lag.map { "\($0) records" } ?? "unknown")", "log:      \(log)",
    ]
    if let clockDifference {
      lines.append("clock:    \(abs(clockDifference)) s \(clockDifference < 0 ? "behind" : "ahead of") the leader's")
    }
    if let alarm { lines.append("alarm:    \(alarm.code): \(alarm.text)") }
    if let obstacle { lines.append("obstacle: \(obstacle.code): \(obstacle.text)") }
    for warning in warnings ?? [] { lines.append("warning:  \(warning.code): \(warning.text)") }
    return lines.joined(separator: "\n")
  }
}
