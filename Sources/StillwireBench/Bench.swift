// SPDX-License-Identifier: Apache-2.0
// The command `stillwire-bench` and its loads. The load generator is in C (`CLoad`), except for the loads `decisions` and
// `pushes`.
import ArgumentParser

@main
struct Bench: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stillwire-bench",
    abstract: "Measure a relay under load.",
    discussion: """
      Opens sessions, publishes messages, and checks that every session receives each message once, in order and \
      unchanged. The exit status is 1 if the relay lost, repeated or refused a message or closed a session.

      Start the relay with --limits-send-rate 0. Otherwise this measures its rate limits. A load of sessions uses one \
      processor. Compare results of one machine only. The load generator has no TLS: measure behind the proxy.
      """,
    subcommands: [
      Fanout.self, Rooms.self, Idle.self, Durable.self, Focus.self, Presence.self, Reconnect.self, Decisions.self,
      Pushes.self,
    ]
  )
}

/// The reason why a load could not run, in one line.
struct BenchError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
