// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOHTTP1
import NIOWebSocket
import Synchronization

/// Why there is no socket.
enum ConnectError: Error, Equatable {
  /// The answer to the handshake was no upgrade, or to another subprotocol.
  case notUpgraded
}

/// Opens sockets to a relay.
struct WebSocketConnector: Sendable {
  let address: RelayAddress
  /// Bytes of a message at most, whole or in fragments.
  let largestMessage: Int
  var trust = Transport.Trust.system

  static let subprotocol = "stillwire.v1.json"
  /// A relay sends none; a proxy may.
  static let mostFragments = 1_024

  /// The machine gives an attempt up at the same time; this is for what cannot be cancelled.
  static let patience = TimeAmount.seconds(15)

  /// A socket whose events are told on `loop`, once it is upgraded. When the task is cancelled, no socket is left.
  func connect(
    on loop: any EventLoop, tell: @escaping @Sendable (SocketEvent) -> Void
  ) async throws -> any Channel {
    let attempt = Attempt()
    return try await withTaskCancellationHandler {
      let upgraded = try await Transport.connect(to: address, trusting: trust, on: loop, patience: Self.patience) {
        channel in
        try attempt.began(channel)
        return try upgrade(channel, tell)
      }
      return try await upgraded.get()
    } onCancel: {
      attempt.cancel()
    }
  }

  /// Runs on the loop.
  private func upgrade(
    _ channel: any Channel, _ tell: @escaping @Sendable (SocketEvent) -> Void
  ) throws -> EventLoopFuture<any Channel> {
    let upgrader = NIOTypedWebSocketClientUpgrader<any Channel>(maxFrameSize: largestMessage) { channel, head in
      channel.eventLoop.makeCompletedFuture {
        guard head.headers["sec-websocket-protocol"] == [Self.subprotocol] else { throw ConnectError.notUpgraded }
        try channel.pipeline.syncOperations.addHandlers(
          NIOWebSocketFrameAggregator(
            minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: Self.mostFragments,
            maxAccumulatedFrameSize: largestMessage),
          WebSocketHandler(tell: tell))
        return channel
      }
    }
    var headers = HTTPHeaders()
    headers.add(name: "Host", value: address.authority)
    headers.add(name: "Sec-WebSocket-Protocol", value: Self.subprotocol)
    let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: address.socketPath, headers: headers)
    var configuration = NIOUpgradableHTTPClientPipelineConfiguration(
      upgradeConfiguration: NIOTypedHTTPClientUpgradeConfiguration<any Channel>(
        upgradeRequestHead: head, upgraders: [upgrader],
        notUpgradingCompletionHandler: { $0.eventLoop.makeFailedFuture(ConnectError.notUpgraded) }))
    // What came with the answer to the handshake is the first frame, or its beginning.
    configuration.leftOverBytesStrategy = .forwardBytes
    let result = try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(
      configuration: configuration)
    // An attempt that came to nothing leaves no socket behind.
    result.whenFailure { _ in channel.close(promise: nil) }
    return result
  }
}

/// The channel of an attempt that may be cancelled before there is one.
private final class Attempt: Sendable {
  private let state = Mutex<(channel: (any Channel)?, isCancelled: Bool)>((nil, false))

  func began(_ channel: any Channel) throws {
    try state.withLock {
      guard !$0.isCancelled else { throw CancellationError() }
      $0.channel = channel
    }
  }

  func cancel() {
    let channel = state.withLock {
      $0.isCancelled = true
      return $0.channel
    }
    channel?.close(promise: nil)
  }
}
