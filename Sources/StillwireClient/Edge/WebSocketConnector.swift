// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOHTTP1
import NIOWebSocket
import StillwireExtension

/// The reason why a socket could not be opened.
enum ConnectError: Error, Equatable {
  /// The server did not upgrade the connection, or chose another subprotocol. A standby node names its leader's URL, if
  /// it knows a leader.
  case notUpgraded(isStandby: Bool, leader: String?)

  var isStandby: Bool {
    switch self {
    case .notUpgraded(let isStandby, _): isStandby
    }
  }

  var leader: String? {
    switch self {
    case .notUpgraded(_, let leader): leader
    }
  }
}

/// Opens sockets to a relay.
struct WebSocketConnector: Sendable {
  /// Maximum size of a message in bytes, in one frame or in fragments.
  let maxMessageSize: Int
  var trust = Transport.Trust.system

  static let subprotocol = "stillwire.v1.json"
  /// Maximum number of fragments of a message. A relay sends no fragments, but a proxy may.
  static let maxFragments = 1_024

  /// Timeout of the TCP and TLS handshake. `ClientMachine` has the same timeout, but cannot cancel all steps.
  static let patience = TimeAmount.seconds(15)

  /// Opens a socket, and returns it after the upgrade. Passes its events to the closure, on `loop`. Cancellation of the
  /// task closes the socket.
  func connect(
    to address: RelayAddress, on loop: any EventLoop, emit: @escaping @Sendable (SocketEvent) -> Void
  ) async throws -> any Channel {
    let attempt = Attempt()
    return try await withTaskCancellationHandler {
      let upgraded = try await Transport.connect(to: address, trusting: trust, on: loop, patience: Self.patience) {
        channel in
        try attempt.began(channel)
        return try upgrade(channel, address, emit)
      }
      return try await upgraded.get()
    } onCancel: {
      attempt.cancel()
    }
  }

  /// Runs on the loop.
  private func upgrade(
    _ channel: any Channel, _ address: RelayAddress, _ emit: @escaping @Sendable (SocketEvent) -> Void
  ) throws -> EventLoopFuture<any Channel> {
    let upgrader = NIOTypedWebSocketClientUpgrader<any Channel>(maxFrameSize: maxMessageSize) { channel, head in
      channel.eventLoop.makeCompletedFuture {
        guard head.headers["sec-websocket-protocol"] == [Self.subprotocol] else {
          throw ConnectError.notUpgraded(isStandby: false, leader: nil)
        }
        let decoder = try channel.pipeline.syncOperations.handler(
          type: ByteToMessageHandler<WebSocketFrameDecoder>.self)
        try channel.pipeline.syncOperations.addHandler(PartReader { emit(.partArrived) }, position: .before(decoder))
        try channel.pipeline.syncOperations.addHandlers(
          NIOWebSocketFrameAggregator(
            minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: Self.maxFragments,
            maxAccumulatedFrameSize: maxMessageSize),
          WebSocketHandler(emit: emit))
        return channel
      }
    }
    var headers = HTTPHeaders()
    headers.add(name: "Host", value: address.authority)
    headers.add(name: "Sec-WebSocket-Protocol", value: Self.subprotocol)
    let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: address.socketPath, headers: headers)
    let reader = NIOLoopBound(StandbyReader(), eventLoop: channel.eventLoop)
    var configuration = NIOUpgradableHTTPClientPipelineConfiguration(
      upgradeConfiguration: NIOTypedHTTPClientUpgradeConfiguration<any Channel>(
        upgradeRequestHead: head, upgraders: [upgrader],
        notUpgradingCompletionHandler: {
          $0.eventLoop.makeFailedFuture(
            ConnectError.notUpgraded(isStandby: reader.value.isStandby, leader: reader.value.leader))
        }))
    // Bytes after the answer to the handshake are the first frame, or a part of it.
    configuration.leftOverBytesStrategy = .forwardBytes
    let result = try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(
      configuration: configuration)
    let decoder = try channel.pipeline.syncOperations.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
    try channel.pipeline.syncOperations.addHandler(reader.value, position: .after(decoder))
    // A failed attempt closes its socket.
    result.whenFailure { _ in channel.close(promise: nil) }
    return result
  }
}

/// Reads the answer of a standby node to a handshake, and then removes itself.
private final class StandbyReader: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPClientResponsePart

  /// True if the answer is that of a relay. A proxy that has no relay sends no problem document.
  private(set) var isStandby = false
  private(set) var leader: String?

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .head(let head) = unwrapInboundIn(data), head.status == .serviceUnavailable {
      leader = head.headers.first(name: leaderHeader)
      isStandby = head.headers.first(name: "Content-Type")?.hasPrefix("application/problem+json") ?? false
    }
    context.fireChannelRead(data)
    context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
  }
}

/// The channel of an attempt to connect. The attempt may be cancelled before its channel exists.
private final class Attempt: Sendable {
  private let state = Locked<(channel: (any Channel)?, isCancelled: Bool)>((nil, false))

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
