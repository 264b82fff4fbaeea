// SPDX-License-Identifier: Apache-2.0
// Tests the report of the filter that the system applies now.
import Foundation
import Testing

@testable import StillwireExtension

@Suite(.timeLimit(.minutes(15))) struct FilterReporterTests {
  enum Failure: Error { case notFound, other }

  /// Results of the system, and the body of the report. Without a body the reporter throws the error.
  static let results: [(Result<[String]?, Failure>, body: String?)] = [
    (.success(["work"]), #"{"active":true,"allow":["work"],"#), (.success([]), #"{"active":true,"allow":[],"#),
    (.success(nil), #"{"active":false,"#),
    // The system throws an error if no filter is active.
    (.failure(.notFound), #"{"active":false,"#), (.failure(.other), nil),
  ]

  @Test(arguments: results.indices) func `without an active filter all pushes pass`(_ index: Int) async throws {
    let (result, body) = Self.results[index]
    let server = try TestServer(
      "HTTP/1.1 200 OK\r\nContent-Length: 16\r\nConnection: close\r\n\r\n", body: Data(#"{"applied":true}"#.utf8))
    let address = try #require(RelayAddress("http://127.0.0.1:\(server.port)"))
    let file = FileManager.default.temporaryDirectory.appending(path: "number-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: file) }
    let reporter = FilterReporter(address, numberFile: file, patience: .seconds(60)) { .reportKey("swr_key") }
    let outcome = await Result {
      try await reporter.report(current: { try result.get() }, unless: { $0 as? Failure == .notFound })
    }
    if let body {
      try outcome.get()
      #expect(server.received.count == 1 && server.received[0].contains(body))
    } else {
      #expect(throws: Failure.other) { try outcome.get() }
      #expect(server.received.isEmpty)
    }
  }
}

extension Result where Failure == any Error {
  fileprivate init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
