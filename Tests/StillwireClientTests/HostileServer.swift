// SPDX-License-Identifier: Apache-2.0
import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket
import StillwireClient

/// A server for tests that upgrades as a relay does, or does not upgrade, and then writes any bytes.
enum HostileServer {
  enum Handshake: Sendable {
    /// Writes the bytes before it reads a request.
    case raw
    /// Upgrades with this subprotocol, or without one if `nil`.
    case upgrade(subprotocol: String?)
    /// Upgrades as a relay does, and writes the bytes in the same packet as the answer.
    case upgradeAtOnce
  }

  /// A `bye` with `reconnect: false` and a close frame: the end of a session whose client must not reconnect.
  static let finalGoodbye: [UInt8] = {
    let goodbye = Array(#"{"type":"bye","code":4506,"reason":"no","reconnect":false}"#.utf8)
    return [0x81, UInt8(goodbye.count)] + goodbye + [0x88, 0x02, 0x11, 0x9A]
  }()

  /// Serves while `body` runs.
  /// - Parameters:
  ///   - host: An address on loopback.
  ///   - tls: The TLS context. The server uses no TLS if `nil`.
  static func serve<Value: Sendable>(
    _ handshake: Handshake, bytes: [UInt8], times: Int = 1, host: String = "127.0.0.1", tls: NIOSSLContext? = nil,
    _ body: (RelayAddress) async throws -> Value
  ) async throws -> Value {
    let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        if let tls {
          do {
            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls))
          } catch {
            return channel.eventLoop.makeFailedFuture(error)
          }
        }
        switch handshake {
        case .upgradeAtOnce:
          return channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(Greeter(bytes: bytes))
          }
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
                // Below the frame encoder, so that the bytes need not be frames.
                try channel.pipeline.syncOperations.addHandler(
                  Writer(bytes: bytes, times: times), position: .first)
              }
            })
          return channel.pipeline.configureHTTPServerPipeline(
            withServerUpgrade: (upgraders: [upgrader], completionHandler: { _ in }))
        }
      }
      .bind(host: host, port: 0).get()
    let result: Result<Value, any Error>
    do {
      let scheme = tls == nil ? "http" : "https"
      result = .success(try await body(RelayAddress("\(scheme)://\(host):\(server.localAddress!.port!)")!))
    } catch {
      result = .failure(error)
    }
    try await server.close()
    return try result.get()
  }

  /// Answers the handshake (RFC 6455, section 4.2.2), and writes the bytes in the same packet.
  private final class Greeter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let bytes: [UInt8]
    private var head = ""

    init(bytes: [UInt8]) { self.bytes = bytes }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let isAnswered = head.contains("\r\n\r\n")
      head += String(buffer: unwrapInboundIn(data))
      guard !isAnswered, head.contains("\r\n\r\n"), let key = head.firstMatch(of: #/(?i)Sec-WebSocket-Key: *(\S+)/#)?.1
      else { return }
      let proof = Data(Insecure.SHA1.hash(data: Data("\(key)258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)))
      let answer = """
        HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\
        Sec-WebSocket-Accept: \(proof.base64EncodedString())\r\nSec-WebSocket-Protocol: stillwire.v1.json\r\n\r\n
        """
      context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: Array(answer.utf8) + bytes)), promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
  }

  /// Writes the bytes `times` times, or until the client no longer reads.
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
      // The answer to the handshake is written before this.
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
