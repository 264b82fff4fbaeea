// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayProtocol

/// A WebSocket client on its own socket, which sends only what the caller requests. Belongs to one thread.
final class Peer {
  enum Frame {
    case text([UInt8])
    case ping([UInt8])
    case close(code: Int)
    /// The relay has ended the stream.
    case end

    /// True if the relay ends the session with this frame or one before it.
    var endsSession: Bool {
      switch self {
      case .text(let json): json.firstRange(of: Array("\"type\":\"bye\"".utf8)) != nil
      case .ping: false
      case .close, .end: true
      }
    }
  }

  private var socket: Int32
  private var bytes: [UInt8] = []
  /// True after ``Frame/end`` was returned, or after this side has cut the connection.
  private(set) var isOver = false

  /// Connects to a relay on this machine and completes the handshake. Throws ``Violation``.
  init(port: UInt16) throws {
    socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let failed = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(socket, $0, size) }
    }
    guard failed == 0 else { throw Violation(.answered, "no connection: \(String(cString: strerror(errno)))") }
    var on: Int32 = 1
    setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    try upgrade(port)
  }

  deinit { if socket >= 0 { Foundation.close(socket) } }

  private func upgrade(_ port: UInt16) throws {
    write(
      Array(
        """
        GET /v1/connect HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: Upgrade\r\nUpgrade: websocket\r
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
        Sec-WebSocket-Protocol: stillwire.v1.json\r\n\r\n
        """.utf8))
    let end = Array("\r\n\r\n".utf8)
    while bytes.firstRange(of: end) == nil {
      var waiting = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      guard poll(&waiting, 1, 10_000) == 1, receive() else {
        throw Violation(.answered, "the handshake is not answered")
      }
    }
    guard bytes.starts(with: Array("HTTP/1.1 101".utf8)), let range = bytes.firstRange(of: end) else {
      throw Violation(.answered, "no upgrade: \(String(decoding: bytes, as: UTF8.self))")
    }
    bytes.removeSubrange(..<range.upperBound)
  }

  // MARK: Writing

  private static let text: UInt8 = 1
  private static let close: UInt8 = 8
  private static let ping: UInt8 = 9
  private static let pong: UInt8 = 10

  func say(_ json: [UInt8]) { write(Self.text, json) }

  func pong(_ payload: [UInt8]) { write(Self.pong, payload) }

  /// Begins the close handshake, or ends one.
  func close(_ code: Int) { write(Self.close, [UInt8(code >> 8), UInt8(code & 0xff)]) }

  /// Ends the connection without a close handshake.
  func cut() {
    guard socket >= 0 else { return }
    isOver = true
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
    Foundation.close(socket)
    socket = -1
  }

  /// Writes a frame with a mask of zeros, which does not change the payload.
  private func write(_ opcode: UInt8, _ payload: [UInt8]) {
    var frame: [UInt8] = [0x80 | opcode]
    if payload.count < 126 {
      frame.append(0x80 | UInt8(payload.count))
    } else {
      frame += [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xff)]
    }
    write(frame + [0, 0, 0, 0] + payload)
  }

  private func write(_ bytes: [UInt8]) {
    guard socket >= 0 else { return }
    // The frames are so small that the socket always accepts them. A failure shows as the end of the stream.
    _ = send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }

  // MARK: Reading

  /// Returns when one of the peers has received bytes, or after a millisecond.
  static func wait(for peers: [Peer]) {
    var waiting = peers.map { pollfd(fd: $0.socket, events: Int16(POLLIN), revents: 0) }
    poll(&waiting, nfds_t(waiting.count), 1)
  }

  /// The frames that were received since the last call.
  func frames() -> [Frame] {
    guard !isOver else { return [] }
    while receive() {}
    var frames: [Frame] = []
    while let frame = next() { frames.append(frame) }
    if hasEnded {
      isOver = true
      frames.append(.end)
    }
    return frames
  }

  private var hasEnded = false

  /// Reads the available bytes. Returns false if there are none.
  private func receive() -> Bool {
    guard !hasEnded else { return false }
    let count = withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { buffer in
      let count = recv(socket, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
      if count > 0 { bytes.append(contentsOf: buffer[..<count]) }
      return count
    }
    if count == 0 || count < 0 && errno != EAGAIN && errno != EINTR { hasEnded = true }
    return count > 0
  }

  private func next() -> Frame? {
    guard bytes.count >= 2 else { return nil }
    var header = 2
    var size = Int(bytes[1] & 0x7f)
    if size >= 126 {
      header = size == 126 ? 4 : 10
      guard bytes.count >= header else { return nil }
      size = bytes[2..<header].reduce(0) { $0 << 8 | Int($1) }
    }
    guard bytes.count >= header + size else { return nil }
    let opcode = bytes[0] & 0x0f
    let payload = Array(bytes[header..<header + size])
    bytes.removeFirst(header + size)
    switch opcode {
    case Self.text: return .text(payload)
    case Self.ping: return .ping(payload)
    case Self.close: return .close(code: payload.count >= 2 ? Int(payload[0]) << 8 | Int(payload[1]) : 1005)
    default: return next()
    }
  }
}
