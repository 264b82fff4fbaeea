// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import RelayServer
import UnixSignals

/// `stillwire top`: shows the figures of a running relay once a second.
struct Top: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show sessions, rates, the push queue and the busiest rooms of a running relay.",
    discussion: """
      The figures are those of /metrics, and change once a second. q or Ctrl-C ends the command. If the output is no \
      terminal, the command prints one screen and ends.

      An API key with a scope needs the operations readMetrics and listAllRooms.
      """)

  @OptionGroup var relay: RelayOptions

  func run() async throws {
    guard let terminal = Terminal() else { return try await printOnce() }
    // Before the second screen, so that an error stays visible.
    let client: RelayClient
    let first: TopFigures
    do {
      client = try relay.client
      first = try await Self.figures(of: client)
    } catch {
      throw ExitCode.failure(error)
    }
    let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm, .sighup)
    terminal.begin()
    defer { terminal.end() }
    await withTaskGroup(of: Void.self) { tasks in
      tasks.addTask { await Self.show(client, from: first, on: terminal) }
      tasks.addTask { for await _ in signals { return } }
      tasks.addTask { await Self.waitForEnd(at: terminal.keys) }
      await tasks.next()
      tasks.cancelAll()
    }
  }

  private func printOnce() async throws {
    do {
      let client = try relay.client
      let before = try await Self.figures(of: client)
      try await Task.sleep(for: Self.interval)
      let screen = TopScreen(before: before, now: try await Self.figures(of: client))
      print(screen.lines(url: client.url).joined(separator: "\n"))
    } catch {
      throw ExitCode.failure(error)
    }
  }

  private static let interval = Duration.seconds(1)

  /// Shows the figures until the task is cancelled. An error is a line of the screen, because the relay may come back.
  private static func show(_ client: RelayClient, from first: TopFigures, on terminal: Terminal) async {
    var screen = TopScreen(before: first, now: first)
    var note = ""
    while !Task.isCancelled {
      let (height, width) = terminal.size
      terminal.show(screen.lines(url: client.url, note: note, height: height, width: width))
      try? await Task.sleep(for: interval)
      do {
        screen = TopScreen(before: screen.now, now: try await figures(of: client))
        note = ""
      } catch {
        note = "\(error)"
      }
    }
  }

  /// Returns at the key q.
  private static func waitForEnd(at keys: AsyncStream<UInt8>) async {
    for await key in keys where key == UInt8(ascii: "q") { return }
    // The input has ended: only a signal ends the command.
    while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
  }

  private static func figures(of client: RelayClient) async throws -> TopFigures {
    let text = try await client.answer("GET", "/metrics")
    let answer = try await client.answer("GET", "/v1/rooms?recent=true&limit=100")
    let rooms = try JSONDecoder().decode(Rooms.self, from: Data(answer))
    return TopFigures(
      time: ContinuousClock.now - start, date: Date().timeIntervalSince1970,
      metrics: String(decoding: text, as: UTF8.self),
      rooms: rooms.rooms)
  }

  private static let start = ContinuousClock.now

  private struct Rooms: Decodable { var rooms: [TopFigures.Room] }
}
