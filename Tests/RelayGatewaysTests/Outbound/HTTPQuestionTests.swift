// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayGateways

@Suite struct HTTPQuestionTests {
  private func question(_ service: TestService, _ path: String = "/v1/pushes?limit=1") throws -> HTTPQuestion {
    try #require(
      HTTPQuestion(
        method: "GET", url: "http://127.0.0.1:\(service.port)/relay/", path: path,
        fields: [(name: "Authorization", value: "Bearer key")]))
  }

  @Test func `an answer is told as it is`() async throws {
    let service = try await TestService.start(isSecure: false) { _ in
      HTTPAnswer(status: 404, body: Array("gone".utf8))
    }
    let answer = try await question(service).ask()
    #expect(answer.status == 404 && answer.body == Array("gone".utf8))
    #expect(service.requests.map(\.path) == ["/relay/v1/pushes?limit=1"])
    #expect(service.requests[0].headers["authorization"] == "Bearer key")
  }

  @Test func `who does not answer has timed out`() async throws {
    let service = try await TestService.start(isSecure: false) { _ in nil }
    await #expect(throws: HTTPQuestion.TimedOut.self) { try await question(service).ask(timeout: .milliseconds(200)) }
  }

  @Test(arguments: ["", "127.0.0.1:80", "ftp://a", "http://a/?b", "http://a/#b", "http://u:p@a"])
  func `what is no place of a server is none`(_ url: String) {
    #expect(HTTPQuestion(method: "GET", url: url, path: "/") == nil)
  }
}
