// SPDX-License-Identifier: Apache-2.0
// The HTTP server of the control API, on NIO. `AppleSimulator+Control.swift` answers its requests.
import NIOCore
import NIOHTTP1
import NIOPosix
import RelayProtocol

extension AppleSimulator {
  /// Starts the control API on 127.0.0.1. It ends with the simulator.
  /// - Parameter port: The port. 0: any free port.
  /// - Returns: The port.
  @discardableResult
  public func startControl(port: Int = 0) async throws -> Int {
    let answer: @Sendable (ControlRequest) async -> ControlAnswer = { [weak self] request in
      await self?.answer(request) ?? ControlAnswer(RequestError(.unavailable, "the simulator has ended"))
    }
    let control = try await ServerBootstrap(group: group)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        channel.pipeline.configureHTTPServerPipeline().flatMapThrowing {
          let pipeline = channel.pipeline.syncOperations
          try pipeline.addHandler(IdleStateHandler(readTimeout: .seconds(60)))
          try pipeline.addHandler(ControlHandler(answer: answer))
        }
      }
      .bind(host: "127.0.0.1", port: port).get()
    return control.localAddress?.port ?? port
  }

  /// One connection of the control API. It handles one request at a time.
  final class ControlHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let answer: @Sendable (ControlRequest) async -> ControlAnswer
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    init(answer: @escaping @Sendable (ControlRequest) async -> ControlAnswer) { self.answer = answer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head(let head):
        self.head = head
        body = []
      case .body(let bytes):
        guard head != nil else { return }
        body.append(contentsOf: bytes.readableBytesView)
        guard body.count > ControlRequest.maxBody else { return }
        let error = RequestError(.tooLarge, "a body has \(ControlRequest.maxBody) bytes at most")
        head = nil
        body = []
        write(ControlAnswer(error), isLast: true, to: context)
      case .end:
        guard let head = head.take() else { return }
        let request = ControlRequest(method: head.method.rawValue, target: head.uri, body: body)
        let reply = context.eventLoop.makePromise(of: ControlAnswer.self)
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        reply.futureResult.whenSuccess { answer in
          let (handler, context) = bound.value
          handler.write(answer, isLast: !head.isKeepAlive, to: context)
        }
        reply.completeWithTask { [answer] in await answer(request) }
      }
    }

    private func write(_ answer: ControlAnswer, isLast: Bool, to context: ChannelHandlerContext) {
      var headers = HTTPHeaders()
      if !answer.body.isEmpty { headers.add(name: "content-type", value: "application/json") }
      if answer.status != 204 { headers.add(name: "content-length", value: String(answer.body.count)) }
      if isLast { headers.add(name: "connection", value: "close") }
      let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: answer.status), headers: headers)
      context.write(wrapOutboundOut(.head(head)), promise: nil)
      context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: answer.body)))), promise: nil)
      let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
      context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in
        if isLast { bound.value.close(promise: nil) }
      }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if event is IdleStateHandler.IdleStateEvent { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
  }
}
