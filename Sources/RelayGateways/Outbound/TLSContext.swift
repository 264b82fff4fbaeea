// SPDX-License-Identifier: Apache-2.0
// TLS for the connections of all gateways, with NIOSSL.
import NIOCore
import NIOSSL

extension NIOSSLContext {
  /// Returns a client context that verifies the server's certificate and requires TLS 1.2 or later.
  /// - Parameters:
  ///   - file: A PEM file of trusted certificates. Is `nil` for the system's.
  ///   - protocols: The application protocols to offer (ALPN).
  static func client(trusting file: String?, protocols: [String] = []) throws -> NIOSSLContext {
    guard file != nil || !protocols.isEmpty else { return try system.get() }
    return try made(trusting: file, protocols: protocols)
  }

  /// The context with the system's certificates and without ALPN. All gateways share it, because each context has its
  /// own copy of the certificates.
  private static let system = Result { try made(trusting: nil, protocols: []) }

  private static func made(trusting file: String?, protocols: [String]) throws -> NIOSSLContext {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = protocols
    if let file { configuration.trustRoots = .file(file) }
    return try NIOSSLContext(configuration: configuration)
  }
}

extension ChannelPipeline.SynchronousOperations {
  /// Adds TLS to a pipeline. An IP address is not sent as SNI, which allows names only (RFC 6066, section 3); the
  /// certificate must still contain it.
  func addTLSClient(_ context: NIOSSLContext, host: String) throws {
    let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
    try addHandler(NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : host))
  }
}
