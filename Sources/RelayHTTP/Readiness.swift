// SPDX-License-Identifier: Apache-2.0
import RelayState
import RelayStore

/// The answer to the question of a load balancer whether the relay accepts clients. Pure.
struct Readiness: Equatable {
  let code: Int
  let status: String
  let store: String

  /// A relay without its store is ready: another server does not have these users, live rooms still work here, and the
  /// store may recover by itself. A damaged store does not.
  init(_ stage: Core.Stage, isAvailable: Bool, isDamaged: Bool) {
    code = stage == .ready && !isDamaged ? 200 : 503
    status = stage == .ready && isDamaged ? "damaged" : stage.rawValue
    store = isDamaged ? "damaged" : isAvailable ? "available" : "unavailable"
  }

  init(_ stage: Core.Stage, _ store: StoreStatistics) {
    self.init(stage, isAvailable: store.isAvailable, isDamaged: store.isDamaged)
  }
}
