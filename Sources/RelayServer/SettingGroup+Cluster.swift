// SPDX-License-Identifier: Apache-2.0
import RelayNATS
import RelayProtocol

/// The settings of a cluster.
extension SettingGroup {
  package static let cluster = SettingGroup(
    "Cluster",
    note: """
      With `cluster.servers`, the relay is a node of a cluster: one node leads and serves the clients, and the others
      follow and take over. All nodes have the same configuration, except for their names, URLs, and certificates and
      keys for NATS.
      """,
    [
      Setting(
        "cluster.servers", alias: "cluster",
        .list(
          of: "a NATS server, such as nats://10.0.0.7:4222", { ClusterSettings.isServer($0) ? $0 : nil }, text: { $0 },
          separators: " ,"), \.cluster.servers, needsRestart: true,
        "NATS servers with JetStream, which keep the log of the cluster. Commas may separate them, too."),
      Setting(
        "cluster.name", .text, \.cluster.nats.cluster, needsRestart: true,
        "Name of the cluster. Clusters with different names can share NATS servers."),
      Setting(
        "cluster.node", .text, \.cluster.node, default: "the name of the host", needsRestart: true,
        "Name of this node in the cluster."),
      Setting(
        "cluster.url", .text, \.cluster.url, default: "required in a cluster", needsRestart: true,
        "URL at which clients reach this node."),
      Setting(
        "cluster.replicas", .choice, \.cluster.replicas, default: "3 with at least three servers, else 1",
        needsRestart: true, "Number of NATS servers that store each record."),
      Setting(
        "cluster.maxLog", .whole(67_108_864...1_099_511_627_776, .bytes), \.cluster.nats.maxLogBytes,
        needsRestart: true,
        "Maximum size of the log on the disk of a NATS server. It applies when a node creates the log."),
      Setting(
        "cluster.maxSnapshots", .whole(67_108_864...17_592_186_044_416, .bytes), \.cluster.nats.maxSnapshotBytes,
        needsRestart: true,
        "Maximum size of all snapshots on the disk of a NATS server. It must be twice the size of the largest database. "
          + "It applies when a node creates the snapshots."),
      Setting(
        "cluster.credentialsFile", .file, \.cluster.nats.credentialsFile, needsRestart: true,
        "Credentials file of NATS, with a token and a seed."),
      Setting(
        "cluster.caFile", .file, \.cluster.nats.authorityFile, default: "the authorities of the system",
        needsRestart: true, "PEM file with the authorities that sign the certificates of the NATS servers."),
      Setting(
        "cluster.certificateFile", .file, \.cluster.nats.certificateFile, needsRestart: true,
        "PEM file with this node's certificate for the NATS servers."),
      Setting(
        "cluster.keyFile", .file, \.cluster.nats.keyFile, needsRestart: true,
        "PEM file with the key of this node's certificate."),
    ])
}
