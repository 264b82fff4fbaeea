// SPDX-License-Identifier: Apache-2.0
import Foundation
import Logging
import ServiceLifecycle
import Synchronization
import Testing
import UnixSignals

@testable import RelayServer

@Suite struct EndRequestTests {
  /// Runs until the graceful shutdown.
  private struct Work: Service {
    let hasBegun = AsyncStream<Void>.makeStream()

    func run() async throws {
      hasBegun.continuation.yield()
      try? await gracefulShutdown()
    }
  }

  private static func group(_ work: Work, _ request: EndRequest) -> ServiceGroup {
    ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: [.init(service: work), request.service], logger: Logger(label: "test")))
  }

  @Test(.timeLimit(.minutes(15))) func `a request before the services begin ends them`() async throws {
    let request = EndRequest()
    request.make()
    try await Self.group(Work(), request).run()
    #expect(request.isMade)
  }

  @Test(.timeLimit(.minutes(15))) func `a request ends running services`() async throws {
    let request = EndRequest()
    let work = Work()
    Task {
      for await _ in work.hasBegun.stream { request.make() }
    }
    try await Self.group(work, request).run()
  }

  @Test(.timeLimit(.minutes(15))) func `a signal counts although nobody waits for it yet`() async throws {
    let request = EndRequest()
    let signals = await UnixSignalsSequence(trapping: .sigusr1)
    let listening = Task { await request.make(at: signals) }
    defer { listening.cancel() }
    kill(getpid(), SIGUSR1)
    while !request.isMade { try await Task.sleep(for: .milliseconds(5)) }
    await request.wait()
  }

  @Test(.timeLimit(.minutes(15))) func `a cancelled wait ends`() async {
    let request = EndRequest()
    let waiting = Task { await request.wait() }
    waiting.cancel()
    await waiting.value
    #expect(!request.isMade)
  }
}
