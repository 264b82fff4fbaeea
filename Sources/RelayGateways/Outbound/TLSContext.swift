// SPDX-License-Identifier: Apache-2.0
import NIOSSL

extension NIOSSLContext {
  /// Checks whom it talks to, from TLS 1.2 on.
  /// - Parameter file: Certificates as PEM; nil: the system's.
  static func client(trusting file: String?) throws -> NIOSSLContext {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.minimumTLSVersion = .tlsv12
    if let file { configuration.trustRoots = .file(file) }
    return try NIOSSLContext(configuration: configuration)
  }
}
