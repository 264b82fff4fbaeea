// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol
import RelayStore
import Testing

@testable import RelayServer

/// The columns of a requested push are the parts of its request.
@Suite struct RequestedPushTests {
  @Test func `a request has the columns that differ from the default`() {
    var request = PushRequest(kind: .call, level: .passive)
    request.manner.category = CategoryID(rawValue: "invitation")
    request.manner.collapse = .room
    let push = RequestedPush(request)
    #expect(push?.json == request.json)
    #expect(push?.style == request.style.map { String(decoding: $0, as: UTF8.self) })
    #expect([push?.kind, push?.category, push?.collapse, push?.level] == ["call", "invitation", "room", "passive"])
  }

  @Test func `a default request needs no push, and a refused one has no columns`() {
    #expect(RequestedPush(PushRequest()) == nil)
    #expect(
      RequestedPush(PushRequest(isAsked: false, kind: .call, criteria: "a")) == RequestedPush(json: Array("false".utf8))
    )
  }
}
