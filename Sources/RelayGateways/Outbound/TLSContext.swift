// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOSSL

extension NIOSSLContext {
  /// Checks whom it talks to, from TLS 1.2 on.
  /// - Parameters:
  ///   - file: Certificates as PEM; nil: the system's.
  ///   - protocols: What it speaks above TLS (ALPN).
  static func client(trusting file: String?, protocols: [String] = []) throws -> NIOSSLContext {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = protocols
    if let file { configuration.trustRoots = .file(file) }
    return try NIOSSLContext(configuration: configuration)
  }
}

extension ChannelPipeline.SynchronousOperations {
  /// Talks TLS from here on to a host by name, or by address: of that a certificate may speak, but SNI has no place
  /// for it (RFC 6066, section 3).
  func addTLSClient(_ context: NIOSSLContext, host: String) throws {
    let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
    try addHandler(NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : host))
  }
}
