// SPDX-License-Identifier: Apache-2.0
import Foundation
import StillwireExtension

/// A Keychain in memory. A test can lock it, as the system does before the first unlock.
final class MemorySecrets: AccountSecrets {
  struct IsLocked: Error {}

  private let state = Locked((values: [AccountSecret: String](), isLocked: false))

  var values: [AccountSecret: String] { state.current.values }

  func setLocked(_ isLocked: Bool) { state.withLock { $0.isLocked = isLocked } }

  func value(of secret: AccountSecret) throws -> String? { try unlocked { $0[secret] } }

  func set(_ value: String, of secret: AccountSecret) throws { try unlocked { $0[secret] = value } }

  func remove(_ secret: AccountSecret) throws { try unlocked { $0[secret] = nil } }

  private func unlocked<Value>(_ body: (inout [AccountSecret: String]) -> Value) throws -> Value {
    try state.withLock { state in
      guard !state.isLocked else { throw IsLocked() }
      return body(&state.values)
    }
  }
}
