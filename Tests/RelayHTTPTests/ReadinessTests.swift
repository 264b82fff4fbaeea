// SPDX-License-Identifier: Apache-2.0
import RelayState
import Testing

@testable import RelayHTTP

@Suite struct ReadinessTests {
  @Test(arguments: [
    (Core.Stage.starting, true, false, 503, "starting", "available"),
    (.ready, true, false, 200, "ready", "available"),
    (.ready, false, false, 200, "ready", "unavailable"),
    (.stopping, true, false, 503, "stopping", "available"),
    (.starting, false, true, 503, "starting", "damaged"),
    (.ready, false, true, 503, "damaged", "damaged"),
    (.stopping, false, true, 503, "stopping", "damaged"),
  ])
  func `the stage and the store decide`(
    stage: Core.Stage, isAvailable: Bool, isDamaged: Bool, code: Int, status: String, store: String
  ) {
    let readiness = Readiness(stage, isAvailable: isAvailable, isDamaged: isDamaged)
    #expect((readiness.code, readiness.status, readiness.store) == (code, status, store))
  }
}
