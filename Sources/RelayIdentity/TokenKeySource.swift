// SPDX-License-Identifier: Apache-2.0
import Foundation
package import RelayJSON
package import RelayProtocol

/// The setting of a key for tokens: its file, its algorithm and its id.
public struct TokenKeySource: Sendable, Equatable {
  public let algorithm: TokenAlgorithm
  /// The `kid` by which tokens name the key. Is `nil` if tokens do not name it.
  public let id: String?
  /// The file: a secret for HS256, or else a public key as PEM.
  public let path: String

  private static let algorithms = TokenAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")

  /// Parses `ALGORITHM:KID:FILE`. The kid may be empty. Throws ``StartupError``.
  package init(_ text: String) throws(StartupError) {
    let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 3, !parts[2].isEmpty, let algorithm = TokenAlgorithm(rawValue: parts[0]) else {
      throw StartupError("tokens.keys: \(text) is not ALGORITHM:KID:FILE with one of \(Self.algorithms)")
    }
    self.algorithm = algorithm
    id = parts[1].isEmpty ? nil : parts[1]
    path = parts[2]
  }

  /// Parses an entry of the configuration file. Throws an error with the pointer of the wrong value.
  package init(_ fields: Fields) throws(RequestError) {
    algorithm = try fields.required("algorithm", fields.choice("algorithm"))
    id = try fields.string("kid", maxLength: 256)
    path = try fields.required("file", fields.string("file", maxLength: 4096))
  }

  /// Reads the key. Throws ``StartupError``.
  func read() async throws(StartupError) -> VerificationKey {
    if algorithm == .hs256 { return await VerificationKey(secret: try SecretFile(forTokensAt: path).secret, id: id) }
    let data = try OpenedFile(path, as: "tokens.keys:").data
    do {
      return try await VerificationKey(algorithm, pem: String(decoding: data, as: UTF8.self), id: id)
    } catch {
      throw StartupError("tokens.keys: \(path) is no public key for \(algorithm.rawValue) as PEM")
    }
  }
}
