// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import StillwireClient

/// A server that upgrades as a relay does, or not, and then writes any bytes.
enum HostileServer {
  enum Handshake: Sendable {
    /// Before anything is asked.
    case raw
    /// With this subprotocol; nil: none.
    case upgrade(subprotocol: String?)
  }

  /// Serves while `body` runs.
  static func serve<Value: Sendable>(
    _ handshake: Handshake, bytes: [UInt8], times: Int = 1, _ body: (RelayAddress) async throws -> Value
  ) async throws -> Value {
    let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        switch handshake {
        case .raw:
          return channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(Writer(bytes: bytes, times: times))
          }
        case .upgrade(let subprotocol):
          let upgrader = NIOWebSocketServerUpgrader(
            automaticErrorHandling: false,
            shouldUpgrade: { channel, _ in
              var headers = HTTPHeaders()
              if let subprotocol { headers.add(name: "Sec-WebSocket-Protocol", value: subprotocol) }
              return channel.eventLoop.makeSucceededFuture(headers)
            },
            upgradePipelineHandler: { channel, _ in
              channel.eventLoop.makeCompletedFuture {
                // Below the frames, so that they are whatever bytes we like.
                try channel.pipeline.syncOperations.addHandler(
                  Writer(bytes: bytes, times: times), position: .first)
              }
            })
          return channel.pipeline.configureHTTPServerPipeline(
            withServerUpgrade: (upgraders: [upgrader], completionHandler: { _ in }))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let result: Result<Value, any Error>
    do {
      result = .success(try await body(RelayAddress("http://127.0.0.1:\(server.localAddress!.port!)")!))
    } catch {
      result = .failure(error)
    }
    try await server.close()
    return try result.get()
  }

  /// Writes when it is there, again and again, until nobody reads.
  private final class Writer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let bytes: [UInt8]
    private var left: Int

    init(bytes: [UInt8], times: Int) {
      self.bytes = bytes
      left = times
    }

    func handlerAdded(context: ChannelHandlerContext) {
      // What answers the handshake is on its way before.
      if context.channel.isActive { write(context.loopBound) }
    }

    func channelActive(context: ChannelHandlerContext) { write(context.loopBound) }

    private func write(_ bound: NIOLoopBound<ChannelHandlerContext>) {
      guard left > 0 else { return }
      left -= 1
      bound.eventLoop.execute { [self = NIOLoopBound(self, eventLoop: bound.eventLoop)] in
        let (writer, context) = (self.value, bound.value)
        context.writeAndFlush(writer.wrapOutboundOut(ByteBuffer(bytes: writer.bytes))).assumeIsolated().whenSuccess {
          writer.write(bound)
        }
      }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
  }
}
