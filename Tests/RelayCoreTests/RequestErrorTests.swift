// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import RelayStore
import Testing

@testable import RelayCore

@Suite struct RequestErrorTests {
  @Test(arguments: [
    (StoreError.unavailable(reason: "full"), ErrorCode.unavailable, true), (.closed, .unavailable, true),
    (.failed(reason: "constraint"), .internal, false), (.damaged(reason: "malformed"), .internal, false),
    (.noRoom(RoomID(unchecked: "tea")), .notFound, false), (.tooMany(.roomsPerUser), .tooLarge, false),
    (.answered, .conflict, false),
  ])
  func `what the store did not do has the code of its cause`(error: StoreError, code: ErrorCode, isRetried: Bool) {
    let told = RequestError(error)
    #expect(told.code == code)
    #expect((told.retryAfter != nil) == isRetried)
  }
}
