// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

@main
struct Bench: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stillwire-bench",
    abstract: "Measure a relay under load.",
    discussion: """
      Opens sessions, lets some of them publish, and checks what every session is shown: each message once, in order, \
      unchanged. Ends with 1 when the relay left something out, showed it twice, refused it or closed a session.

      Start the relay with --limits-send-rate 0, or its rates are what is measured. A load takes one processor; \
      compare runs on one machine only. Over TLS, measure behind the proxy.
      """,
    subcommands: [Fanout.self, Rooms.self, Idle.self, Durable.self, Presence.self, Reconnect.self, Pushes.self]
  )
}

/// The reason why a load could not run, in one line.
struct BenchError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
