// SPDX-License-Identifier: Apache-2.0
import Foundation
public import Logging
import RelayCluster
public import RelayIdentity
import RelayNATS
import Synchronization

/// Begins a new log with the data of one node. The operator runs it after a loss of the log, or to make a cluster from a
/// single relay.
public enum ClusterReset {
  /// Deletes the log and the snapshots, and publishes a snapshot of this node's file as the begin of a new log. The
  /// relay of the data folder must not run. Throws ``StartupError``.
  /// - Returns: A text for the operator.
  public static func run(_ configuration: ServerConfiguration, log: Logger) throws(StartupError) -> String {
    guard configuration.cluster.isOn else { throw StartupError("cluster.servers is missing") }
    let leader = try configuration.cluster.leader()
    let settings = try configuration.cluster.nats(leader)
    // An empty database must not replace the log because --data is missing or wrong.
    guard FileManager.default.fileExists(atPath: configuration.dataFolder + "/stillwire.db") else {
      throw StartupError(
        "the folder \(configuration.dataFolder) has no database stillwire.db: name the data folder of the chosen node "
          + "with --data")
    }
    let folder = StoreReplicaFolder(configuration.dataFolder)
    let file: StoreReplica
    do throws(ReplicaError) {
      file = try StoreReplica(folder: configuration.dataFolder)
    } catch {
      throw StartupError("\(error)")
    }
    defer { file.close() }
    let hasNewEpochs: Bool
    let manifest: SnapshotManifest
    do throws(LogUnavailable) {
      (hasNewEpochs, manifest) = try begin(file, leader, try NATSLog(settings) { log.info("\($0)") }, folder)
    } catch {
      throw StartupError("\(error)")
    }
    return """
      The cluster \(configuration.cluster.nats.cluster) has a new log, which begins with the data of \(leader.name).
      Snapshot: \(manifest.id), \(manifest.size) bytes.
      Start this node. Move the data folders of the other nodes away, if they have any, and start them, too.
      """
        + (hasNewEpochs
          ? "\nAll rooms begin new epochs and the pushes are cancelled, because this data may lack the newest messages."
          : "")
  }

  /// Throws if a leader sends heartbeats: its clients would lose what they store now.
  private static func checkNobodyLeads(_ nats: NATSLog, _ clock: SystemNodeClock) throws(LogUnavailable) {
    let found = Mutex<Leader?>(nil)
    let subscription = try nats.onHeartbeat { heartbeat in
      if !heartbeat.isLeaving { found.withLock { $0 = heartbeat.leader } }
    }
    _ = clock.wait(Heartbeat.interval * 5)
    withExtendedLifetime(subscription) {}
    if let leader = found.withLock({ $0 }) {
      throw LogUnavailable("the node \(leader.name) leads. Stop all nodes first")
    }
  }

  private static func begin(
    _ file: StoreReplica, _ leader: Leader, _ nats: NATSLog, _ folder: any ReplicaFolder
  ) throws(LogUnavailable) -> (hasNewEpochs: Bool, SnapshotManifest) {
    let clock = SystemNodeClock()
    try checkNobodyLeads(nats, clock)
    try nats.deleteStreams()
    let state = try nats.createStreams()
    let keyTime: Duration
    do throws(ReplicaError) {
      keyTime = try file.keyTime
    } catch {
      throw LogUnavailable("\(error)")
    }
    let record = LogRecord(sequence: 1, term: 1, gid: clock.gid(), time: keyTime, content: .term(leader))
    guard case .stored(1) = nats.publish(record) else {
      throw LogUnavailable("the first record was not stored. Stop all nodes and try again")
    }
    let hasNewEpochs: Bool
    do throws(ReplicaError) {
      hasNewEpochs = try file.beginLog(
        at: LogPosition(generation: state.generation, term: 1, sequence: 1, gid: record.gid))
    } catch {
      throw LogUnavailable("\(error)")
    }
    // The record is stored, so no other node begins the cluster during the upload.
    let transfer = SnapshotTransfer(leader, log: nats, folder: folder, clock: clock) { SHA256Digest() }
    do throws(LogUnavailable) {
      let manifest = try transfer.publish()
      // Without the note, the node looks for the snapshot at its start.
      try? file.noteSnapshot()
      return (hasNewEpochs, manifest)
    } catch {
      throw LogUnavailable("\(error.reason). The log has begun: start this node, which publishes the snapshot itself")
    }
  }
}
