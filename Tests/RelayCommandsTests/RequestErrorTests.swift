// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import RelayRequests
import RelayStore
import Testing

@Suite struct RequestErrorTests {
  @Test(arguments: [
    (StoreError.unavailable(reason: "full"), ErrorCode.unavailable, true), (.closed, .unavailable, true),
    (.failed(reason: "constraint"), .internal, false), (.invalidRow(reason: "malformed"), .internal, false),
    (.damaged(path: "/data", reason: "malformed"), .unavailable, true),
    (.noRoom(RoomID(unchecked: "tea")), .notFound, false), (.tooMany(.roomsPerUser), .tooLarge, false),
    (.answered, .conflict, false), (.refused(.noInvitation), .notFound, false),
    (.tooMany(.invitedUsers), .tooLarge, false),
  ])
  func `an error of the store has the code of its cause`(error: StoreError, code: ErrorCode, isRetried: Bool) {
    let error = RequestError(error)
    #expect(error.code == code)
    #expect((error.retryAfter != nil) == isRetried)
  }
}
