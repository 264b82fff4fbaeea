// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// The error of a connection in the words of an operator, without the types of NIO.
enum ConnectionWords {
  static func of(_ error: any Error) -> String {
    switch error {
    case let error as NIOConnectionError: of(error)
    case let error as IOError: String(cString: strerror(error.errnoCode)).lowercased()
    case ChannelError.connectTimeout: "no answer in time"
    case let error as HostLookup.Unknown: error.words
    case let error as SocketAddressError.UnknownHost: error.errorDescription
    // The only one of these errors after the setup of TLS.
    case is NIOSSLExtraError: "the certificate of the server is for another host"
    case let error as NIOSSLError: handshake("\(error)")
    case let error as BoringSSLError: handshake("\(error)")
    case is HTTPParserError: "the answer is not HTTP"
    default: "\(error)"
    }
  }

  private static func of(_ error: NIOConnectionError) -> String {
    guard !error.connectionErrors.isEmpty else {
      let cause = (error.dnsAError ?? error.dnsAAAAError).map { ": " + of($0) } ?? ""
      return "the host \(error.host) is not known" + cause
    }
    // A host may have several addresses.
    var words: [String] = []
    for failure in error.connectionErrors {
      let next = of(failure.error)
      if !words.contains(next) { words.append(next) }
    }
    return words.joined(separator: ", ")
  }

  /// The reason of BoringSSL is the word in capitals after `OPENSSL_internal:`.
  private static func handshake(_ text: String) -> String {
    guard let mark = text.firstRange(of: "OPENSSL_internal:") else { return "the TLS handshake failed: \(text)" }
    let reason = text[mark.upperBound...].prefix { $0.isUppercase || $0.isNumber || $0 == "_" }
    return switch reason {
    case "CERTIFICATE_VERIFY_FAILED": "this machine does not trust the certificate of the server (\(reason))"
    case "WRONG_VERSION_NUMBER", "HTTP_REQUEST": "the server does not use TLS (\(reason))"
    default: "the TLS handshake failed (\(reason))"
    }
  }
}
