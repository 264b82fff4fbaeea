// SPDX-License-Identifier: Apache-2.0
import CNATS

/// The operator's next step after a failure that no repetition ends.
enum NATSAdvice {
  static let permission =
    "Allow the nodes to publish to stillwire.NAME.>, $JS.API.> and $JS.FC.>, and to subscribe to stillwire.NAME.> and "
    + "_INBOX.>, where NAME is cluster.name"

  /// A server that could not write to its disk stores nothing more, also when the disk has space again.
  static let restart = "When a full disk has space again, restart its nats-server: it stores nothing before"

  /// The text of the failure, with the next step if there is one.
  static func text(_ error: NATSError, _ configuration: NATSConfiguration) -> String {
    step(error, configuration).map { "\(error.reason). \($0)" } ?? error.reason
  }

  private static func step(_ error: NATSError, _ configuration: NATSConfiguration) -> String? {
    switch error.status {
    case NATS_CONNECTION_AUTH_FAILED:
      return "Check the user in cluster.servers or cluster.credentialsFile, and the users of the NATS servers"
    case NATS_NOT_PERMITTED: return permission
    case NATS_SECURE_CONNECTION_REQUIRED: return "The server requires TLS: use the scheme tls:// in cluster.servers"
    case NATS_SECURE_CONNECTION_WANTED: return "The server has no TLS: use the scheme nats:// in cluster.servers"
    case NATS_NO_RESPONDERS:
      return
        "JetStream does not answer. Check that the NATS servers have it enabled, and that a majority of them runs. "
        + restart
    case NATS_SSL_ERROR, NATS_PROTOCOL_ERROR, NATS_IO_ERROR, NATS_CONNECTION_CLOSED:
      if let step = certificateStep(error, configuration) { return step }
    default: break
    }
    return streamStep(error.code)
  }

  /// A server that requires a certificate ends the connection after the handshake. cnats then misses the answer to its
  /// first ping.
  private static func certificateStep(_ error: NATSError, _ configuration: NATSConfiguration) -> String? {
    guard configuration.servers.contains("tls://") else { return nil }
    let isEarly = error.reason.contains("PONG") || error.reason.contains("handshake") || error.status == NATS_SSL_ERROR
    guard isEarly else { return nil }
    guard configuration.certificateFile != nil else {
      return "Check cluster.caFile. If the NATS server requires a certificate of its clients, set "
        + "cluster.certificateFile and cluster.keyFile"
    }
    return "Check cluster.caFile, the name in the server's certificate, and that the server trusts the authority of "
      + "cluster.certificateFile"
  }

  private static func streamStep(_ code: UInt32) -> String? {
    switch code {
    case JSStreamStoreFailedErr.rawValue:
      "If the log has reached cluster.maxLog, `stillwire cluster snapshot` on a standby shortens it. Otherwise check the "
        + "disks of the NATS servers. \(restart)"
    case JSNotEnabledErr.rawValue, JSNotEnabledForAccountErr.rawValue:
      "Enable JetStream on the NATS servers, and for the account of the nodes"
    case JSInsufficientResourcesErr.rawValue, JSStorageResourcesExceededErr.rawValue,
      JSAccountResourcesExceededErr.rawValue:
      "Raise the limit of JetStream's disk space (max_file_store) on the NATS servers, or of the account, and check "
        + "their disks. \(restart)"
    case JSClusterNoPeersErr.rawValue, JSStreamReplicasNotSupportedErr.rawValue:
      "cluster.replicas needs as many NATS servers in one cluster, all of them running"
    case JSMaximumStreamsLimitErr.rawValue: "Raise the number of streams that the account may have"
    default: nil
    }
  }
}
