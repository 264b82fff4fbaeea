// SPDX-License-Identifier: Apache-2.0

/// The reason why a backup or a restore has failed.
public struct BackupError: Error, Equatable, CustomStringConvertible, Sendable {
  /// One line for an operator.
  public let description: String

  init(_ description: String) { self.description = description }

  init(_ error: StoreError) {
    description =
      switch error {
      case .unusable(let path, let reason): "\(path): \(reason)"
      default: error.description
      }
  }

  /// Converts the errors of the store.
  static func converting<Value>(_ body: () throws(StoreError) -> Value) throws(BackupError) -> Value {
    do {
      return try body()
    } catch {
      throw BackupError(error)
    }
  }
}
