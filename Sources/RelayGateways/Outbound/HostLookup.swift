// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore
import NIOPosix

/// Resolves a host with the system's resolver and removes the addresses that a policy does not permit.
///
/// NIO connects to exactly these addresses and resolves the name only once, which prevents DNS rebinding. Each object
/// serves one connection.
final class HostLookup: Resolver, Sendable {
  /// The policy permits no address that the host has in one family.
  struct Refused: Error {}

  /// The host does not exist, or no DNS server answers.
  struct Unknown: Error {
    let words: String
  }

  private let policy: AddressPolicy
  private let four: EventLoopPromise<[SocketAddress]>
  private let six: EventLoopPromise<[SocketAddress]>
  private let loop: any EventLoop

  init(policy: AddressPolicy, loop: any EventLoop) {
    self.policy = policy
    self.loop = loop
    four = loop.makePromise()
    six = loop.makePromise()
  }

  /// Starts one lookup for both families. ``initiateAQuery(host:port:)`` returns the IPv4 part of its result.
  func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
    NIOThreadPool.singleton.runIfActive(eventLoop: loop) { try Self.addresses(of: host, port: port) }
      .whenComplete { result in
        switch result {
        case .success(let found):
          self.six.completeWith(self.permitted(found.filter { $0.protocol == .inet6 }))
          self.four.completeWith(self.permitted(found.filter { $0.protocol == .inet }))
        case .failure(let error):
          self.six.fail(error)
          self.four.fail(error)
        }
      }
    return six.futureResult
  }

  func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { four.futureResult }

  func cancelQueries() {}

  private func permitted(_ found: [SocketAddress]) -> Result<[SocketAddress], any Error> {
    let permitted = found.filter(policy.permits)
    return permitted.isEmpty && !found.isEmpty ? .failure(Refused()) : .success(permitted)
  }

  /// Returns the addresses in the order of RFC 6724. Blocks the thread.
  private static func addresses(of host: String, port: Int) throws -> [SocketAddress] {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_protocol = Int32(IPPROTO_TCP)
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(host, String(port), &hints, &list)
    guard code == 0 else { throw Unknown(words: String(cString: gai_strerror(code))) }
    defer { freeaddrinfo(list) }
    return sequence(first: list) { $0?.pointee.ai_next }.prefix { $0 != nil }.compactMap { entry in
      guard let entry = entry?.pointee, let address = entry.ai_addr else { return nil }
      let bytes = UnsafeRawPointer(address)
      return switch entry.ai_family {
      case AF_INET: SocketAddress(bytes.load(as: sockaddr_in.self), host: host)
      case AF_INET6: SocketAddress(bytes.load(as: sockaddr_in6.self), host: host)
      default: nil
      }
    }
  }
}
