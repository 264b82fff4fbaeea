// SPDX-License-Identifier: Apache-2.0
import Foundation
import StillwireExtension

/// An HTTP server on loopback. It sends the same bytes to each connection, without a check of the request.
final class TestServer: Sendable {
  let port: Int
  private let listener: Int32
  private let requests = Locked<[String]>([])

  /// - Parameters:
  ///   - answer: The bytes of the answer.
  ///   - repeats: The number of further times to send the second part of the answer.
  init(_ answer: String, body: Data = Data(), repeats: Int = 0) throws {
    #if os(Linux)
      let stream = Int32(SOCK_STREAM.rawValue)
    #else
      let stream = SOCK_STREAM
    #endif
    let listener = socket(AF_INET, stream, 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let port = withUnsafeMutablePointer(to: &address) { pointer -> UInt16? in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer -> UInt16? in
        guard bind(listener, pointer, length) == 0, listen(listener, 16) == 0 else { return nil }
        return getsockname(listener, pointer, &length) == 0 ? 0 : nil
      }
    }
    guard port != nil else { throw POSIXError(.EADDRNOTAVAIL) }
    self.port = Int(UInt16(bigEndian: address.sin_port))
    self.listener = listener
    let requests = requests
    Thread.detachNewThread {
      while case let connection = accept(listener, nil, nil), connection >= 0 {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var request = ""
        while !Self.isComplete(request), case let count = read(connection, &buffer, buffer.count), count > 0 {
          request += String(decoding: buffer.prefix(count), as: UTF8.self)
        }
        let complete = request
        requests.withLock { $0.append(complete) }
        var open = Self.send(Data(answer.utf8) + body, to: connection)
        for _ in 0..<repeats where open { open = Self.send(body, to: connection) }
        shutdown(connection, Int32(SHUT_WR))
        // Waits until the client has read the answer and closes the connection.
        while read(connection, &buffer, buffer.count) > 0 {}
        close(connection)
      }
    }
  }

  /// The requests so far, with their heads.
  var received: [String] { requests.current }

  deinit { shutdown(listener, Int32(SHUT_RDWR)) }

  /// True if the request has all bytes of its body.
  private static func isComplete(_ request: String) -> Bool {
    guard let end = request.range(of: "\r\n\r\n") else { return false }
    let size = request.firstMatch(of: /Content-Length: (\d+)/)?.1
    return request[end.upperBound...].utf8.count >= size.flatMap { Int($0) } ?? 0
  }

  private static func send(_ data: Data, to connection: Int32) -> Bool {
    var rest = Array(data)[...]
    while !rest.isEmpty {
      #if os(Linux)
        let flags = Int32(MSG_NOSIGNAL)
      #else
        let flags: Int32 = 0
      #endif
      let count = rest.withUnsafeBytes { Foundation.send(connection, $0.baseAddress, $0.count, flags) }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }
}
