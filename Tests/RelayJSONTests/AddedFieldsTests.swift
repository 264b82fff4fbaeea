// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol
import Testing

struct AddedFieldsTests {
  private let fields = Fields(["user": .string("bob"), "name": .string("x")])
    .adding(["user": .string("ann"), "seq": .string("nine")], at: "/path")
    .adding(["limit": .number("1000")], at: "/query")

  @Test func `a part of the path hides a member of the body`() throws {
    let user: UserID? = try fields.name("user")
    #expect(user?.rawValue == "ann")
  }

  @Test(arguments: [("user", "/path/user"), ("seq", "/path/seq"), ("limit", "/query/limit"), ("name", "/name")])
  func `an error has the pointer of its member`(key: String, pointer: String) {
    #expect(fields.pointer(to: key) == pointer)
    #expect(fields.wrong(key, "is wrong").at == pointer)
  }

  @Test(arguments: [("/seq", "/path/seq"), ("/name", "/name"), ("/path/seq", "/path/seq"), ("/push/seq", "/push/seq")])
  func `an error about an added member gets the pointer of the member`(at: String, pointer: String) {
    #expect(fields.located(RequestError(.notFound, "is gone", at: at)).at == pointer)
    #expect(fields.located(RequestError(.notFound, "is gone")).at == nil)
  }

  @Test func `a hidden member of the body is still unknown`() {
    let error = #expect(throws: RequestError.self) { try fields.checkNames(among: ["name"]) }
    #expect(error?.at == "/user")
    let path = Fields(["name": .string("x")]).adding(["user": .string("ann")], at: "/path")
    #expect(throws: Never.self) { try path.checkNames(among: ["name"]) }
  }
}
